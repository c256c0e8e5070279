// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Conversion of errnos and EP states to DAT return codes, and names of the return codes. */
#include <dat_error_names.h>

#include "kdapl/kdapl.h"

static const struct {
	int			err;
	DAT_RETURN_TYPE		type;
	DAT_RETURN_SUBTYPE	subtype;
} kdat_errors[] = {
	{ -ENOMEM,		DAT_INSUFFICIENT_RESOURCES,	DAT_RESOURCE_MEMORY },
	{ -EINVAL,		DAT_INVALID_PARAMETER,		DAT_NO_SUBTYPE },
	{ -EFAULT,		DAT_INVALID_PARAMETER,		DAT_NO_SUBTYPE },
	{ -EOPNOTSUPP,		DAT_MODEL_NOT_SUPPORTED,	DAT_NO_SUBTYPE },
	{ -ENOENT,		DAT_INVALID_HANDLE,		DAT_NO_SUBTYPE },
	{ -EPERM,		DAT_PRIVILEGES_VIOLATION,	DAT_NO_SUBTYPE },
	{ -EACCES,		DAT_PRIVILEGES_VIOLATION,	DAT_NO_SUBTYPE },
	{ -EXDEV,		DAT_PROTECTION_VIOLATION,	DAT_NO_SUBTYPE },
	{ -EBUSY,		DAT_INVALID_STATE,		DAT_NO_SUBTYPE },
	{ -EISCONN,		DAT_INVALID_STATE,		DAT_NO_SUBTYPE },
	{ -EDEADLK,		DAT_INVALID_STATE,		DAT_NO_SUBTYPE },
	{ -EADDRINUSE,		DAT_CONN_QUAL_IN_USE,		DAT_NO_SUBTYPE },
	{ -ENETUNREACH,		DAT_INVALID_ADDRESS,		DAT_INVALID_ADDRESS_UNREACHABLE },
	{ -EAFNOSUPPORT,	DAT_INVALID_ADDRESS,		DAT_INVALID_ADDRESS_UNSUPPORTED },
	{ -ENOSPC,		DAT_QUEUE_FULL,			DAT_NO_SUBTYPE },
	{ -ENODEV,		DAT_INTERNAL_ERROR,		DAT_RESOURCE_DEVICE },
};

/* Converts an errno of the object layer to a DAT return code. */
DAT_RETURN kdat_error(int err)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kdat_errors); i++)
		if (kdat_errors[i].err == err)
			return KDAT_ERR(kdat_errors[i].type, kdat_errors[i].subtype);
	return KDAT_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
}

/* Converts an errno of kdat_get() or of a similar lookup.  @bad: return code for a bad handle. */
DAT_RETURN kdat_lookup_error(int err, DAT_RETURN bad)
{
	return err == -ENOENT ? bad : kdat_error(err);
}

/* Converts an errno of a resize.  -ENOSPC means that the entries do not fit into the new ring. */
DAT_RETURN kdat_resize_error(int err)
{
	return err == -ENOSPC ? KDAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE) : kdat_error(err);
}

/*
 * Converts an errno of a registration or of a bind.  -EINVAL refers to the memory, which is the
 * third argument of dat_lmr_kcreate(), dat_lmr_fmr() and dat_rmr_bind(), or to the number of pages,
 * which is the third argument of dat_lmr_allocate().
 */
DAT_RETURN kdat_mem_error(int err)
{
	if (err == -EINVAL)
		return KDAT_ARG(3);
	if (err == -E2BIG || err == -ENOMEM)
		return KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	return kdat_error(err);
}

/*
 * Converts an errno of a post about the segments, which are the third argument of each post call.
 * @write: true if the request writes to the segments.
 */
DAT_RETURN kdat_segment_error(int err, bool write)
{
	if (err == -EMSGSIZE)
		return KDAT_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (err == -ERANGE)
		return KDAT_ARG(3);
	if (err == -EXDEV)
		return KDAT_ERR(DAT_PROTECTION_VIOLATION,
				write ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
	return KDAT_ERR(DAT_PRIVILEGES_VIOLATION,
			write ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
}

/*
 * Converts an errno of a function that creates a listener, or of a function that opens an IA.
 * @in_use: return code for -EADDRINUSE; an open never fails with this errno.
 */
DAT_RETURN kdat_listen_error(int err, DAT_RETURN in_use)
{
	if (err == -EADDRINUSE)
		return in_use;
	if (err == -ENETUNREACH)
		return KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	if (err == -EINVAL)
		return KDAT_BAD(EVD_CR);
	return kdat_error(err);
}

#define STATE(state, subtype)	\
	[DAT_EP_STATE_##state] = DAT_INVALID_STATE_##subtype,

static const DAT_RETURN_SUBTYPE kdat_states[] = {
	DAT_ERROR_EP_STATES(STATE)
};

DAT_RETURN kdat_state_error(DAT_EP_STATE state)
{
	if ((unsigned int)state >= ARRAY_SIZE(kdat_states))
		return KDAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	return KDAT_ERR(DAT_INVALID_STATE, kdat_states[state]);
}

#define TYPE_SHIFT	16
#define TYPE(name)	\
	[DAT_##name >> TYPE_SHIFT] = "DAT_" #name,
#define SUB(name)	\
	[DAT_##name] = "DAT_" #name,

static const char *const type_names[] = {
	DAT_ERROR_TYPES(TYPE)
	TYPE(TIMEOUT_EXPIRED)
	TYPE(RESERVED_LMR)
	TYPE(PORT_IN_USE)
	TYPE(COMM_NOT_SUPPORTED)
};

static const char *const subtype_names[] = {
	[DAT_NO_SUBTYPE] = "",
	DAT_ERROR_SUBTYPES(SUB)
	SUB(INVALID_HANDLE_CSP)
	SUB(INVALID_STATE_SRQ_SHUTDOWN)
};

static const char *type_name(DAT_RETURN value)
{
	u32 type = DAT_GET_TYPE(value);

	if (type == DAT_NOT_IMPLEMENTED)
		return "DAT_NOT_IMPLEMENTED";
	type >>= TYPE_SHIFT;
	return type < ARRAY_SIZE(type_names) ? type_names[type] : NULL;
}

static const char *subtype_name(DAT_RETURN value)
{
	u32 subtype = DAT_GET_SUBTYPE(value);

	return subtype < ARRAY_SIZE(subtype_names) ? subtype_names[subtype] : NULL;
}

DAT_RETURN kdat_strerror(DAT_RETURN value, const char **major_message,
			 const char **minor_message)
{
	const char *major = type_name(value);
	const char *minor = subtype_name(value);

	if (!major || !minor)
		return KDAT_ARG(1);
	if (!major_message)
		return KDAT_ARG(2);
	if (!minor_message)
		return KDAT_ARG(3);
	*major_message = major;
	*minor_message = minor;
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_strerror);
