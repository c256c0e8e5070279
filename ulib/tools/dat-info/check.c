// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* dat-info --check: all checks in their order. */
#include "info.h"

int check_run(int json)
{
	int usable;

	report_begin(json);
	check_kernel();
	usable = check_driver();
	check_memlock();
	check_conf(usable);
	check_ports(usable);
	return report_end();
}
