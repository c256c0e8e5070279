// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Users to charge for the resources that a thread takes. */
#include <linux/module.h>
#include <linux/user_namespace.h>

#include "compat.h"
#include "lib/device.h"

/*
 * Returns the number of users to charge, at least 1, and each of them once in @uids.  As with
 * ucounts these are the user of @cred, and the creators of its user namespace and of the namespaces
 * above.  A user may have thousands of subordinate uids in a namespace, but has created the
 * namespace as one.
 */
unsigned int dat_payers(const struct cred *cred, kuid_t uids[DAT_MAX_PAYERS])
{
	const struct user_namespace *ns;
	unsigned int n = 1, i;

	uids[0] = cred->uid;
	for (ns = cred->user_ns; ns != &init_user_ns && n < DAT_MAX_PAYERS; ns = ns->parent) {
		for (i = 0; i < n && !uid_eq(uids[i], ns->owner); i++)
			;
		if (i == n)
			uids[n++] = ns->owner;
	}
	return n;
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_payers);
