# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Copyright (c) The dat authors
#
# Included first by the makefiles of this tree: $(call whole,PATH) stops make at a path that make
# takes apart at a blank, or make or the shell at these characters.  A recipe would remove and write
# in another folder.  An include is taken apart at a blank, too, so the makefile itself looks for
# one in $(SELF).

APART := $$ % : = , ; & | < > ( ) * ? [ ] { } ' " ` \ \#
whole = $(if $(strip $(word 2,$1) $(foreach c,$(APART),$(findstring $c,$1))),$(error \
	'$(strip $1)': use a path without a blank and without $(APART)))
$(call whole,$(SELF))
