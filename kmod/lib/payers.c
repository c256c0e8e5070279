// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Users to charge for the resources that a thread takes. */
#include <linux/module.h>
#include <linux/user_namespace.h>

#include "compat.h"
#include "lib/device.h"

/**
 * dat_payers() - find the users to charge for what a thread takes
 * @cred: credentials of the thread
 * @uids: array that receives the users, each of them once
 *
 * As with ucounts these are the user of the thread, and the creators of its user namespace and of
 * the namespaces above.  A user may have thousands of subordinate uids in a namespace, but has
 * created the namespace as one.
 *
 * Return: number of users, at least 1.
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
