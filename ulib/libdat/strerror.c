// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Names of return codes.  The name of a code is the name of its constant. */
#include <dat/udat.h>
#include <dat_error_names.h>

#include "err.h"

#define EXPORT	__attribute__((visibility("default")))

/* The types up to DAT_CONN_QUAL_UNAVAILABLE are numbered without gaps. */
#define TYPE_SHIFT	16
#define TYPE(name)	\
	[DAT_##name >> TYPE_SHIFT] = "DAT_" #name,
#define SUB(name)	\
	[DAT_##name] = "DAT_" #name,

static const char *const types[] = {
	DAT_ERROR_TYPES(TYPE)
	TYPE(TIMEOUT_EXPIRED)
};

static const char *const subtypes[] = {
	[DAT_NO_SUBTYPE] = "",
	DAT_ERROR_SUBTYPES(SUB)
	SUB(INVALID_RO_COOKIE)
};

#define COUNT(table)	(sizeof(table) / sizeof((table)[0]))

static const char *type_name(DAT_RETURN value)
{
	DAT_RETURN type = DAT_GET_TYPE(value);

	if (type == DAT_NOT_IMPLEMENTED)
		return "DAT_NOT_IMPLEMENTED";
	type >>= TYPE_SHIFT;
	return type < COUNT(types) ? types[type] : NULL;
}

static const char *subtype_name(DAT_RETURN value)
{
	DAT_RETURN subtype = DAT_GET_SUBTYPE(value);

	return subtype < COUNT(subtypes) ? subtypes[subtype] : NULL;
}

EXPORT DAT_RETURN dat_strerror(DAT_RETURN value, const char **major_message,
			       const char **minor_message)
{
	const char *major = type_name(value);
	const char *minor = subtype_name(value);

	if (!major || !minor)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!major_message)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!minor_message)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	*major_message = major;
	*minor_message = minor;
	return DAT_SUCCESS;
}
