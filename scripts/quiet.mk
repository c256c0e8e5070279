# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Copyright (c) The dat authors
#
# Included by the makefiles of this tree: $(call short,CC) before the command of a recipe prints one line
# "CC FILE" in place of the command.  V=1 prints the command, and make -s prints neither.  $(Q) before a
# command that calls make, whose files have their own lines, hides the command unless V=1.

Q := $(if $(filter 1,$(V)),,@)
SILENT := $(findstring s,$(firstword -$(MAKEFLAGS)))
short = $(if $(filter 1,$(V)),,@$(if $(SILENT),,printf '  %-7s %s\n' '$1' '$(patsubst $(DAT_TOP)/build/%,%,$(or $2,$@))';))
