// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Errors of DAT, translated for libfabric. */
#include "fdat.h"

int fdat_error(DAT_RETURN rc)
{
	switch (DAT_GET_TYPE(rc)) {
	case DAT_SUCCESS:
		return 0;
	case DAT_ABORT:
		return -FI_ECANCELED;
	case DAT_CONN_QUAL_IN_USE:
	case DAT_CONN_QUAL_UNAVAILABLE:
		return -FI_EADDRINUSE;
	case DAT_INSUFFICIENT_RESOURCES:
		return -FI_ENOMEM;
	case DAT_INVALID_HANDLE:
	case DAT_INVALID_PARAMETER:
		return -FI_EINVAL;
	case DAT_INVALID_STATE:
		return -FI_EOPBADSTATE;
	case DAT_LENGTH_ERROR:
		return -FI_EMSGSIZE;
	case DAT_MODEL_NOT_SUPPORTED:
	case DAT_NOT_IMPLEMENTED:
		return -FI_EOPNOTSUPP;
	case DAT_PROVIDER_NOT_FOUND:
		return -FI_ENODEV;
	case DAT_PRIVILEGES_VIOLATION:
	case DAT_PROTECTION_VIOLATION:
		return -FI_EACCES;
	case DAT_QUEUE_EMPTY:
		return -FI_EAGAIN;
	case DAT_INVALID_ADDRESS:
		return -FI_EADDRNOTAVAIL;
	default:
		return -FI_EIO;
	}
}

int fdat_post_error(DAT_RETURN rc)
{
	return DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES ? -FI_EAGAIN : fdat_error(rc);
}

int fdat_status_error(int status)
{
	switch (status) {
	case DAT_DTO_ERR_FLUSHED:
		return FI_ECANCELED;
	case DAT_DTO_ERR_LOCAL_LENGTH:
		return FI_ETRUNC;
	case DAT_DTO_ERR_LOCAL_PROTECTION:
	case DAT_DTO_ERR_REMOTE_ACCESS:
		return FI_EACCES;
	case DAT_DTO_ERR_TRANSPORT:
		return FI_ETIMEDOUT;
	case DAT_DTO_ERR_RECEIVER_NOT_READY:
		return FI_ENORX;
	default:
		return FI_EIO;
	}
}

const char *fdat_status_name(int status)
{
	static const char *const names[] = {
		[DAT_DTO_SUCCESS] = "success",
		[DAT_DTO_ERR_FLUSHED] = "the connection has ended",
		[DAT_DTO_ERR_LOCAL_LENGTH] = "the message is longer than the buffer",
		[DAT_DTO_ERR_LOCAL_EP] = "error of the local endpoint",
		[DAT_DTO_ERR_LOCAL_PROTECTION] = "the local memory is not registered for this",
		[DAT_DTO_ERR_BAD_RESPONSE] = "bad response of the peer",
		[DAT_DTO_ERR_REMOTE_ACCESS] = "the remote memory is not registered for this",
		[DAT_DTO_ERR_REMOTE_RESPONDER] = "error of the peer's endpoint",
		[DAT_DTO_ERR_TRANSPORT] = "the peer does not acknowledge",
		[DAT_DTO_ERR_RECEIVER_NOT_READY] = "the peer has posted no receive",
		[DAT_DTO_ERR_PARTIAL_PACKET] = "partial packet",
	};

	if (status < 0 || (size_t)status >= sizeof(names) / sizeof(names[0]))
		return "unknown status";
	return names[status];
}

const char *fdat_event_name(int number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "the peer has rejected the connection";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "nobody listens at the peer's port, or too many requests wait there";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "the peer has given up the connection";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "the time for the connection has expired";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "the peer cannot be reached";
	default:
		return "unknown event";
	}
}
