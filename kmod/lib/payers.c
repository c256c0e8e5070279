// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Users to charge for the resources that a thread takes. */
#include <linux/module.h>
#include <linux/user_namespace.h>

#include "compat.h"
#include "lib/device.h"

/*
 * Stores the users to charge in @uids, each user once, and returns their number, at least 1.  As
 * with ucounts, the users are the user of @cred and the owners of the user namespace of @cred and
 * of the namespaces above it, except the owner of init_user_ns.  A process may use thousands of
 * subordinate uids in a namespace, but the owner of the namespace is charged for all of them.
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
