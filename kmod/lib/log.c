// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Module parameter for the lines in the kernel's log. */
#include <linux/module.h>

#include "compat.h"
#include "lib/log.h"

bool dat_log_all;
module_param_named(log_all, dat_log_all, bool, 0644);
MODULE_PARM_DESC(log_all, "Log every line, without the limit of ten a minute for each kind (N)");
EXPORT_SYMBOL_DAT_INTERNAL(dat_log_all);
