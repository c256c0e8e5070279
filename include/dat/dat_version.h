/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Version of this package, "Direct Access Transport for Linux".  The kernel modules, libraries,
 * tools and packages take their version from this file.
 *
 * The version of an interface is another number: DAT_VERSION_MAJOR and DAT_VERSION_MINOR for uDAPL
 * and kDAPL, RSM_VERSION for RSMAPI, DAT_ABI_VERSION for the ioctls.
 */
#ifndef DAT_LINUX_VERSION_H
#define DAT_LINUX_VERSION_H

#define DAT_LINUX_VERSION_MAJOR	0
#define DAT_LINUX_VERSION_MINOR	9
#define DAT_LINUX_VERSION_PATCH	0

/**
 * DAT_LINUX_VERSION_CODE() - make a version that #if can compare
 * @major: major version, 0 to 255
 * @minor: minor version, 0 to 255
 * @patch: patch level, 0 to 255
 *
 * A program that uses an extension tests for the first version that has it:
 *
 *	#if defined(DAT_LINUX_VERSION) && DAT_LINUX_VERSION >= DAT_LINUX_VERSION_CODE(0, 9, 0)
 */
#define DAT_LINUX_VERSION_CODE(major, minor, patch) (((major) << 16) | ((minor) << 8) | (patch))

/* Version of these headers. */
#define DAT_LINUX_VERSION DAT_LINUX_VERSION_CODE(DAT_LINUX_VERSION_MAJOR, \
						 DAT_LINUX_VERSION_MINOR, \
						 DAT_LINUX_VERSION_PATCH)

#define DAT_LINUX_STRING_(x)	#x
#define DAT_LINUX_STRING(x)	DAT_LINUX_STRING_(x)
/* The same as text: "0.9.0". */
#define DAT_LINUX_VERSION_STRING \
	DAT_LINUX_STRING(DAT_LINUX_VERSION_MAJOR) "." \
	DAT_LINUX_STRING(DAT_LINUX_VERSION_MINOR) "." \
	DAT_LINUX_STRING(DAT_LINUX_VERSION_PATCH)

#endif /* DAT_LINUX_VERSION_H */
