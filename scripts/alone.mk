# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Copyright (c) The dat authors
#
# Included by makefiles that build below $(DAT_TOP)/build: one run at a time.  OWNED is set if a process
# above this make owns the tree, or if all goals are in READS.  Otherwise each goal is left to a make that
# scripts/alone runs as the owner, and the makefile must define no other rules.

OWNED := $(if $(filter-out $(READS),$(or $(MAKECMDGOALS),all)),$(filter $(DAT_OWNED),$(realpath $(DAT_TOP))),yes)
ifeq ($(OWNED),)
undefine OWNED

.PHONY: as-owner $(MAKECMDGOALS)
$(sort $(or $(MAKECMDGOALS),all)): as-owner ;
as-owner:
	@exec $(DAT_TOP)/scripts/alone $(MAKE) --no-print-directory -f $(SELF) $(MAKECMDGOALS)
endif
