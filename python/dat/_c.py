# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Copyright (c) The dat authors
"""Constants, structures and functions of <dat/udat.h>, as far as the package uses them.

scripts/lint-python compares all of them with the headers.
"""
import enum
from ctypes import (CDLL, POINTER, Structure, Union, byref, c_char, c_char_p, c_int, c_uint32,
                    c_uint64, c_void_p)

NAME_MAX_LENGTH = 256
VERSION_MAJOR, VERSION_MINOR, TRUE = 1, 2, 1
TIMEOUT_INFINITE = 0xffffffff
HW_DEFAULT = -1
CLOSE_ABRUPT_FLAG, CLOSE_GRACEFUL_FLAG = 0, 1
PSP_CONSUMER_FLAG, QOS_BEST_EFFORT, CONNECT_DEFAULT_FLAG, MEM_TYPE_VIRTUAL = 0, 0, 0, 0
CR_FIELD_ALL = 0x1f
TYPE_MASK, SUBTYPE_MASK = 0x3fff0000, 0xffff
INVALID_PARAMETER, TIMEOUT_EXPIRED = 0x00060000, 0x000f0000
INVALID_ADDRESS, INTERRUPTED_CALL = 0x00120000, 0x00130000


class CompletionFlags(enum.IntFlag):
    COMPLETION_DEFAULT_FLAG = 0x00
    COMPLETION_SUPPRESS_FLAG = 0x01
    COMPLETION_SOLICITED_WAIT_FLAG = 0x02
    COMPLETION_UNSIGNALLED_FLAG = 0x04
    COMPLETION_BARRIER_FENCE_FLAG = 0x08
    COMPLETION_EVD_THRESHOLD_FLAG = 0x10
    LINUX_COMPLETION_MORE_FLAG = 0x100


class EvdFlags(enum.IntFlag):
    EVD_SOFTWARE_FLAG = 0x001
    EVD_CR_FLAG = 0x010
    EVD_DTO_FLAG = 0x020
    EVD_CONNECTION_FLAG = 0x040
    EVD_RMR_BIND_FLAG = 0x080
    EVD_ASYNC_FLAG = 0x100
    EVD_DEFAULT_FLAG = 0x1f0


class MemPriv(enum.IntFlag):
    MEM_PRIV_NONE_FLAG = 0x00
    MEM_PRIV_LOCAL_READ_FLAG = 0x01
    MEM_PRIV_REMOTE_READ_FLAG = 0x02
    MEM_PRIV_LOCAL_WRITE_FLAG = 0x10
    MEM_PRIV_REMOTE_WRITE_FLAG = 0x20
    MEM_PRIV_ALL_FLAG = 0x33
    LINUX_MEM_PRIV_RELAXED_FLAG = 0x200


class DtoStatus(enum.IntEnum):
    DTO_SUCCESS = 0
    DTO_ERR_FLUSHED = 1
    DTO_ERR_LOCAL_LENGTH = 2
    DTO_ERR_LOCAL_EP = 3
    DTO_ERR_LOCAL_PROTECTION = 4
    DTO_ERR_BAD_RESPONSE = 5
    DTO_ERR_REMOTE_ACCESS = 6
    DTO_ERR_REMOTE_RESPONDER = 7
    DTO_ERR_TRANSPORT = 8
    DTO_ERR_RECEIVER_NOT_READY = 9
    DTO_ERR_PARTIAL_PACKET = 10
    RMR_OPERATION_FAILED = 11


class EventNumber(enum.IntEnum):
    DTO_COMPLETION_EVENT = 0x00001
    RMR_BIND_COMPLETION_EVENT = 0x01001
    CONNECTION_REQUEST_EVENT = 0x02001
    CONNECTION_EVENT_ESTABLISHED = 0x04001
    CONNECTION_EVENT_PEER_REJECTED = 0x04002
    CONNECTION_EVENT_NON_PEER_REJECTED = 0x04003
    CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR = 0x04004
    CONNECTION_EVENT_DISCONNECTED = 0x04005
    CONNECTION_EVENT_BROKEN = 0x04006
    CONNECTION_EVENT_TIMED_OUT = 0x04007
    CONNECTION_EVENT_UNREACHABLE = 0x04008
    ASYNC_ERROR_EVD_OVERFLOW = 0x08001
    ASYNC_ERROR_IA_CATASTROPHIC = 0x08002
    ASYNC_ERROR_EP_BROKEN = 0x08003
    ASYNC_ERROR_TIMED_OUT = 0x08004
    ASYNC_ERROR_PROVIDER_INTERNAL_ERROR = 0x08005
    SOFTWARE_EVENT = 0x10001


class COOKIE(c_uint64):
    """A union of 8 bytes, which is passed like an integer."""
    c_name = "DAT_DTO_COOKIE"


class SOCK_ADDR(c_void_p):
    c_name = "DAT_IA_ADDRESS_PTR"


class PROVIDER_INFO(Structure):
    c_name = "DAT_PROVIDER_INFO"
    _fields_ = [("ia_name", c_char * NAME_MAX_LENGTH), ("dapl_version_major", c_uint32),
                ("dapl_version_minor", c_uint32), ("is_thread_safe", c_uint32)]


class REGION_DESCRIPTION(Structure):
    """A union of a pointer and two pointers; ctypes passes no union by value."""
    c_name = "DAT_REGION_DESCRIPTION"
    _fields_ = [("for_va", c_void_p), ("_second", c_void_p)]


class LMR_TRIPLET(Structure):
    c_name = "DAT_LMR_TRIPLET"
    _fields_ = [("lmr_context", c_uint32), ("pad", c_uint32), ("virtual_address", c_uint64),
                ("segment_length", c_uint64)]


class RMR_TRIPLET(Structure):
    c_name = "DAT_RMR_TRIPLET"
    _fields_ = [("rmr_context", c_uint32), ("pad", c_uint32), ("target_address", c_uint64),
                ("segment_length", c_uint64)]


class EP_ATTR(Structure):
    c_name = "DAT_EP_ATTR"
    _fields_ = [("service_type", c_uint32), ("max_message_size", c_uint64),
                ("max_rdma_size", c_uint64), ("qos", c_uint32),
                ("recv_completion_flags", c_uint32), ("request_completion_flags", c_uint32),
                ("max_recv_dtos", c_int), ("max_request_dtos", c_int),
                ("max_recv_iov", c_int), ("max_request_iov", c_int),
                ("max_rdma_read_in", c_int), ("max_rdma_read_out", c_int),
                ("srq_soft_hw", c_int), ("max_rdma_read_iov", c_int), ("max_rdma_write_iov", c_int),
                ("ep_transport_specific_count", c_int), ("ep_transport_specific", c_void_p),
                ("ep_provider_specific_count", c_int), ("ep_provider_specific", c_void_p)]


class CR_PARAM(Structure):
    c_name = "DAT_CR_PARAM"
    _fields_ = [("remote_ia_address_ptr", c_void_p), ("remote_port_qual", c_uint64),
                ("private_data_size", c_int), ("private_data", c_void_p),
                ("local_ep_handle", c_void_p)]


class DTO_COMPLETION_EVENT_DATA(Structure):
    c_name = "DAT_DTO_COMPLETION_EVENT_DATA"
    _fields_ = [("ep_handle", c_void_p), ("user_cookie", c_uint64), ("status", c_uint32),
                ("transfered_length", c_uint64)]


class CR_ARRIVAL_EVENT_DATA(Structure):
    c_name = "DAT_CR_ARRIVAL_EVENT_DATA"
    _fields_ = [("sp_handle", c_void_p), ("local_ia_address_ptr", c_void_p),
                ("conn_qual", c_uint64), ("cr_handle", c_void_p)]


class CONNECTION_EVENT_DATA(Structure):
    c_name = "DAT_CONNECTION_EVENT_DATA"
    _fields_ = [("ep_handle", c_void_p), ("private_data_size", c_int), ("private_data", c_void_p)]


class ASYNCH_ERROR_EVENT_DATA(Structure):
    c_name = "DAT_ASYNCH_ERROR_EVENT_DATA"
    _fields_ = [("dat_handle", c_void_p), ("reason", c_int)]


class EVENT_DATA(Union):
    c_name = "DAT_EVENT_DATA"
    _fields_ = [("dto_completion_event_data", DTO_COMPLETION_EVENT_DATA),
                ("cr_arrival_event_data", CR_ARRIVAL_EVENT_DATA),
                ("connect_event_data", CONNECTION_EVENT_DATA),
                ("asynch_error_event_data", ASYNCH_ERROR_EVENT_DATA)]


class EVENT(Structure):
    c_name = "DAT_EVENT"
    _fields_ = [("event_number", c_uint32), ("evd_handle", c_void_p), ("event_data", EVENT_DATA)]


H, OUT = c_void_p, POINTER(c_void_p)
POST = (H, c_int, POINTER(LMR_TRIPLET), COOKIE, c_uint32)
RDMA = (H, c_int, POINTER(LMR_TRIPLET), COOKIE, POINTER(RMR_TRIPLET), c_uint32)
PROTOTYPES = {
    "dat_strerror": (c_uint32, POINTER(c_char_p), POINTER(c_char_p)),
    "dat_registry_list_providers": (c_int, POINTER(c_int), POINTER(POINTER(PROVIDER_INFO))),
    "dat_ia_openv": (c_char_p, c_int, OUT, OUT, c_uint32, c_uint32, c_uint32),
    "dat_ia_close": (H, c_uint32),
    "dat_pz_create": (H, OUT),
    "dat_pz_free": (H,),
    "dat_lmr_create": (H, c_uint32, REGION_DESCRIPTION, c_uint64, H, c_uint32, OUT,
                       POINTER(c_uint32), POINTER(c_uint32), POINTER(c_uint64), POINTER(c_uint64)),
    "dat_lmr_free": (H,),
    "dat_evd_create": (H, c_int, H, c_uint32, OUT),
    "dat_evd_wait": (H, c_uint32, c_int, POINTER(EVENT), POINTER(c_int)),
    "dat_evd_free": (H,),
    "dat_ep_create": (H, H, H, H, H, POINTER(EP_ATTR), OUT),
    "dat_ep_connect": (H, SOCK_ADDR, c_uint64, c_uint32, c_int, c_void_p, c_uint32, c_uint32),
    "dat_ep_disconnect": (H, c_uint32),
    "dat_ep_post_send": POST,
    "dat_ep_post_recv": POST,
    "dat_ep_post_rdma_read": RDMA,
    "dat_ep_post_rdma_write": RDMA,
    "dat_ep_free": (H,),
    "dat_psp_create": (H, c_uint64, H, c_uint32, OUT),
    "dat_psp_create_any": (H, POINTER(c_uint64), H, c_uint32, OUT),
    "dat_psp_free": (H,),
    "dat_cr_query": (H, c_uint32, POINTER(CR_PARAM)),
    "dat_cr_accept": (H, H, c_int, c_void_p),
    "dat_cr_reject": (H,),
}


class DatError(Exception):
    """A call failed.  type and subtype are names, such as "DAT_INVALID_STATE"."""

    def __init__(self, call, code):
        names = c_char_p(b"unknown code %#x" % code), c_char_p()
        lib.dat_strerror(code, byref(names[0]), byref(names[1]))
        self.call, self.code = call, code
        self.type, self.subtype = ((name.value or b"").decode() for name in names)
        super().__init__(f"{call}: {self.type} {self.subtype}".rstrip())

    def is_type(self, number):
        return self.code & TYPE_MASK == number


class DatTimeout(DatError, TimeoutError):
    """The time is up."""


def _check(code, function, _arguments):
    if code:
        timeout = code & TYPE_MASK == TIMEOUT_EXPIRED
        raise (DatTimeout if timeout else DatError)(function.__name__, code)


lib = CDLL("libdat.so.1")
for _name, _types in PROTOTYPES.items():
    _function = getattr(lib, _name)
    _function.argtypes, _function.restype = _types, c_uint32
    if _name != "dat_strerror":
        _function.errcheck = _check
