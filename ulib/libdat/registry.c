// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Finding and opening adapters. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "libdat.h"

static int list_one(int fd, unsigned int index, DAT_PROVIDER_INFO *info)
{
	struct dat_adapter arg = { .size = sizeof(arg), .index = index };
	int ret = du_ioctl(fd, DAT_IOC_ADAPTER, &arg);

	if (ret || !info)
		return ret;
	memset(info, 0, sizeof(*info));
	memcpy(info->ia_name, arg.name, sizeof(arg.name));
	info->dapl_version_major = DAT_VERSION_MAJOR;
	info->dapl_version_minor = DAT_VERSION_MINOR;
	return 0;
}

/* Each adapter is there twice: for threads that lock and for those that needn't. */
static DAT_COUNT list_all(int fd, DAT_COUNT max, DAT_PROVIDER_INFO *list[])
{
	DAT_COUNT n = 0;
	unsigned int i;
	int safe;

	for (i = 0; !list_one(fd, i, NULL); i++) {
		for (safe = 1; safe >= 0; safe--, n++) {
			if (n >= max)
				continue;
			list_one(fd, i, list[n]);
			list[n]->is_thread_safe = safe ? DAT_TRUE : DAT_FALSE;
		}
	}
	return n;
}

UDAT_EXPORT DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
						   DAT_COUNT *entries_returned,
						   DAT_PROVIDER_INFO *(dat_provider_list[]))
{
	DAT_COUNT i, n;
	int fd;

	if (!entries_returned)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (max_to_return < 0)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (max_to_return && !dat_provider_list)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	for (i = 0; i < max_to_return; i++)
		if (!dat_provider_list[i])
			return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);

	/* No driver means no adapters, which is an answer. */
	*entries_returned = 0;
	fd = du_dev_open(1);
	if (fd < 0)
		return DAT_SUCCESS;
	n = list_all(fd, max_to_return, dat_provider_list);
	close(fd);
	*entries_returned = n;
	/* The page has a list that is too small fail; the count says how large it must be. */
	return n > max_to_return ? DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1) :
				   DAT_SUCCESS;
}
