// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Preloaded by info.sh: uname() tells the release of the kernel that $RELEASE names. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

int uname(struct utsname *uts)
{
	const char *release = getenv("RELEASE");
	long ret = syscall(SYS_uname, uts);

	if (!ret && release)
		snprintf(uts->release, sizeof(uts->release), "%s", release);
	return (int)ret;
}
