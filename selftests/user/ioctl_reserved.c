// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Invalid arguments: reserved fields, unknown bits, counts out of range. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "ioctl_test.h"

IOCTL_FIXTURE(reserved)

/* Make the call once for each single bit that is not in @known, and expect @err. */
#define EXPECT_BITS(err, known, CMD, ...) do {					\
	unsigned int _n;							\
										\
	for (_n = 0; _n < 32; _n++) {						\
		uint32_t bit = 1U << _n;					\
		typeof(__VA_ARGS__) _arg;					\
										\
		if (bit & (known))						\
			continue;						\
		_arg = __VA_ARGS__;						\
		_arg.size = sizeof(_arg);					\
		EXPECT_EQ(-(err), t_ioctl(self->f.fd, DAT_IOC_##CMD, &_arg))	\
			TH_LOG("%s with bit %u", #__VA_ARGS__, _n);		\
	}									\
} while (0)

#define EXPECT_UNKNOWN_BITS(known, CMD, ...) EXPECT_BITS(EOPNOTSUPP, known, CMD, __VA_ARGS__)

TEST_F(reserved, each_bit_of_a_reserved_field_is_EOPNOTSUPP)
{
	uint32_t evd = self->evd.id, ep = self->ep.id, pz = self->pz;
	struct dat_ep_connect connect = {
		.id = ep, .conn_qual = T_QUAL, .timeout_us = 1000,
	};

	memcpy(connect.addr, self->f.info.addr, sizeof(connect.addr));
	connect.addr_len = self->f.info.addr_len;
	EXPECT_UNKNOWN_BITS(0, FREE, (struct dat_free) {
			    .type = DAT_OBJ_EP, .id = ep, .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, IA_CLOSE, (struct dat_ia_close) { .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, EVD_WAIT, (struct dat_evd_wait) {
			    .id = evd, .threshold = 1, .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, EVD_POLL, (struct dat_evd_poll) { .id = evd, .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, EP_CREATE, (struct dat_ep_create) { .pz = pz, .rsvd = bit });
	EXPECT_UNKNOWN_BITS(DAT_EP_FLAG_IMMEDIATE, EP_CREATE, (struct dat_ep_create) {
			    .pz = pz, .flags = bit });
	EXPECT_UNKNOWN_BITS(DAT_EP_FLAG_IMMEDIATE, EP_MODIFY, (struct dat_ep_modify) {
			    .id = ep, .pz = pz, .flags = bit });
	EXPECT_UNKNOWN_BITS(0xf, EP_CONNECT, (connect.qos = bit, connect));
	connect.qos = 0;
	EXPECT_UNKNOWN_BITS(0, EP_CONNECT, (connect.rsvd = bit, connect));
	EXPECT_UNKNOWN_BITS(0, EP_DISCONNECT, (struct dat_ep_disconnect) {
			    .id = ep, .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, LMR_CREATE, (struct dat_lmr_create) {
			    .pz = pz, .addr = 4096, .length = 1, .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, RMR_CREATE, (struct dat_rmr_create) { .pz = pz, .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, EVD_MODIFY_CNO, (struct dat_evd_modify_cno) {
			    .id = evd, .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, EVD_CREATE, (struct dat_evd_create) {
			    .streams = DAT_STREAM_DTO, .qlen = 8, .flags = bit });
	EXPECT_UNKNOWN_BITS(0, EVD_CREATE, (struct dat_evd_create) {
			    .streams = DAT_STREAM_DTO, .qlen = 8, .comp_vector = bit });
	EXPECT_UNKNOWN_BITS(0, EVD_CREATE, (struct dat_evd_create) {
			    .streams = DAT_STREAM_DTO, .qlen = 8, .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, EVD_RESIZE, (struct dat_evd_resize) {
			    .id = evd, .qlen = 8, .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, POLLER_RUN, (struct dat_poller_run) { .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, SRQ_SET_LW, (struct dat_srq_set_lw) { .id = evd, .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, ADAPTER, (struct dat_adapter) { .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, EP_QUERY, (struct dat_ep_query) { .id = ep, .rsvd = bit });
	EXPECT_UNKNOWN_BITS(0, CR_QUERY, (struct dat_cr_query) { .id = ep, .rsvd = bit });
}

/* Only the steps DAT_RING_COMMIT and DAT_RING_CANCEL take a generation. */
TEST_F(reserved, a_generation_for_a_step_without_one_is_EINVAL)
{
	uint32_t evd = self->evd.id, ep = self->ep.id, pz = self->pz;

	EXPECT_BITS(EINVAL, 0, EVD_RESIZE, (struct dat_evd_resize) {
			    .id = evd, .qlen = 8, .generation = bit });
	EXPECT_BITS(EINVAL, 0, SRQ_RESIZE, (struct dat_srq_resize) {
			    .id = evd, .max_recv = 8, .generation = bit });
	EXPECT_BITS(EINVAL, 0, EP_MODIFY, (struct dat_ep_modify) {
			    .id = ep, .pz = pz, .generation = bit });
	EXPECT_BITS(EINVAL, 0, EP_MODIFY, (struct dat_ep_modify) {
			    .id = ep, .pz = pz, .step = DAT_RING_PREPARE, .generation = bit });
}

/* A file without an IA, and a valid argument for IA_OPEN. */
FIXTURE(unbound) {
	struct dat_ia_open arg;
	int fd;
};

FIXTURE_SETUP(unbound)
{
	struct dat_adapter adapter;

	self->fd = open("/dev/dat", O_RDWR);
	ASSERT_EQ(0, t_adapter(self->fd, &adapter));
	self->arg.size = sizeof(self->arg);
	memcpy(self->arg.name, adapter.name, sizeof(self->arg.name));
}

FIXTURE_TEARDOWN(unbound)
{
	close(self->fd);
}

TEST_F(unbound, flags_and_reserved_bits_of_IA_OPEN_are_EOPNOTSUPP)
{
	struct dat_ia_open arg;
	unsigned int n;

	for (n = 0; n < 32; n++) {
		arg = self->arg, arg.rsvd = 1U << n;
		EXPECT_EQ(-EOPNOTSUPP, t_ioctl(self->fd, DAT_IOC_IA_OPEN, &arg)) TH_LOG("%u", n);
		arg = self->arg, arg.flags = 1U << n;
		EXPECT_EQ(-EOPNOTSUPP, t_ioctl(self->fd, DAT_IOC_IA_OPEN, &arg)) TH_LOG("%u", n);
	}
}

TEST_F(unbound, a_feature_that_the_kernel_lacks_is_EOPNOTSUPP)
{
	struct dat_abi abi = { .size = sizeof(abi) };
	struct dat_ia_open arg;
	unsigned int n;

	ASSERT_EQ(0, t_ioctl(self->fd, DAT_IOC_ABI, &abi));
	for (n = 0; n < 64; n++) {
		if (abi.features >> n & 1)
			continue;
		arg = self->arg, arg.features = 1ULL << n;
		EXPECT_EQ(-EOPNOTSUPP, t_ioctl(self->fd, DAT_IOC_IA_OPEN, &arg)) TH_LOG("%u", n);
	}
	self->arg.features = abi.features;
	EXPECT_EQ(0, t_ioctl(self->fd, DAT_IOC_IA_OPEN, &self->arg));
}

TEST_F(unbound, the_doorbell_region_has_a_bit_for_each_queue_that_is_asked_for)
{
	self->arg.max_queues = 131072;
	ASSERT_EQ(0, t_ioctl(self->fd, DAT_IOC_IA_OPEN, &self->arg));
	EXPECT_LE(131072, self->arg.max_queues);
	EXPECT_LE(self->arg.max_queues, self->arg.doorbell_size * 8);
}

TEST_F(unbound, without_a_number_there_are_32768_queues)
{
	ASSERT_EQ(0, t_ioctl(self->fd, DAT_IOC_IA_OPEN, &self->arg));
	EXPECT_LE(32768, self->arg.max_queues);
}

TEST_F(unbound, more_than_196608_queues_are_EINVAL)
{
	self->arg.max_queues = 196609;
	EXPECT_EQ(-EINVAL, t_ioctl(self->fd, DAT_IOC_IA_OPEN, &self->arg));
	self->arg.max_queues = ~0U;
	EXPECT_EQ(-EINVAL, t_ioctl(self->fd, DAT_IOC_IA_OPEN, &self->arg));
	self->arg.max_queues = 196608;
	EXPECT_EQ(0, t_ioctl(self->fd, DAT_IOC_IA_OPEN, &self->arg));
}

TEST_F(reserved, unknown_flags_are_EOPNOTSUPP)
{
	uint32_t evd = self->evd.id, ep = self->ep.id, pz = self->pz;

	EXPECT_UNKNOWN_BITS(T_PRIV_ALL | DAT_PRIV_RELAXED, LMR_CREATE, (struct dat_lmr_create) {
			    .pz = pz, .addr = 4096, .length = 1, .priv = bit });
	EXPECT_UNKNOWN_BITS(T_STREAM_ALL, EVD_CREATE, (struct dat_evd_create) {
			    .streams = bit, .qlen = 1 });
	EXPECT_UNKNOWN_BITS(T_STREAM_ALL, EVD_CREATE, (struct dat_evd_create) {
			    .streams = DAT_STREAM_DTO | bit, .qlen = 1 });
	EXPECT_UNKNOWN_BITS(DAT_EVD_UNWAITABLE | DAT_EVD_DISABLED, EVD_SET, (struct dat_evd_set) {
			    .id = evd, .flags = bit });
	EXPECT_UNKNOWN_BITS(DAT_EVD_UNWAITABLE | DAT_EVD_DISABLED, EVD_SET, (struct dat_evd_set) {
			    .id = evd, .mask = bit });
	EXPECT_UNKNOWN_BITS(0x1f, EP_CREATE, (struct dat_ep_create) {
			    .pz = pz, .recv_flags = bit });
	EXPECT_UNKNOWN_BITS(0x1f, EP_CREATE, (struct dat_ep_create) {
			    .pz = pz, .request_flags = bit });
	EXPECT_UNKNOWN_BITS(DAT_DISCONNECT_GRACEFUL, EP_DISCONNECT, (struct dat_ep_disconnect) {
			    .id = ep, .flags = bit });
	EXPECT_UNKNOWN_BITS(DAT_PSP_ONE_SHOT, PSP_CREATE, (struct dat_psp_create) {
			    .evd = evd, .flags = bit });
	EXPECT_UNKNOWN_BITS(DAT_LMR_SHARED | DAT_LMR_WATCHED, LMR_CREATE, (struct dat_lmr_create) {
			    .pz = pz, .addr = 4096, .length = 1, .flags = bit });
	EXPECT_UNKNOWN_BITS(T_PRIV_ALL, RMR_BIND, (struct dat_rmr_bind) {
			    .id = evd, .priv = bit });
	EXPECT_UNKNOWN_BITS(DAT_CNO_WATCH, CNO_WAIT, (struct dat_cno_wait) {
			    .id = evd, .flags = bit });
}

TEST_F(reserved, unknown_steps_of_replacing_a_ring_are_EOPNOTSUPP)
{
	uint32_t evd = self->evd.id;

	EXPECT_ERR(EOPNOTSUPP, EVD_RESIZE, (struct dat_evd_resize) {
		   .id = evd, .qlen = 8, .step = 4 });
	EXPECT_ERR(EOPNOTSUPP, SRQ_RESIZE, (struct dat_srq_resize) {
		   .id = evd, .max_recv = 8, .step = 4 });
	EXPECT_ERR(EOPNOTSUPP, EP_MODIFY, (struct dat_ep_modify) { .id = self->ep.id, .step = 4 });
}

/* A value that is valid for other calls or other objects causes EINVAL, not EOPNOTSUPP. */
TEST_F(reserved, values_that_do_not_fit_the_call_are_EINVAL)
{
	struct dat_ep_connect connect = {
		.id = self->ep.id, .conn_qual = T_QUAL, .timeout_us = 1000,
		.qos = DAT_QOS_CLASS_ECONOMY | DAT_QOS_CLASS_PREMIUM,
	};

	memcpy(connect.addr, self->f.info.addr, sizeof(connect.addr));
	connect.addr_len = self->f.info.addr_len;
	EXPECT_ERR(EINVAL, EP_CONNECT, connect);
	EXPECT_ERR(EINVAL, EVD_CREATE, (struct dat_evd_create) { .streams = 0, .qlen = 1 });
	EXPECT_ERR(EINVAL, RMR_BIND, (struct dat_rmr_bind) {
		   .id = self->evd.id, .priv = DAT_PRIV_LOCAL_READ });
}

TEST_F(reserved, types_that_cannot_be_freed_are_refused)
{
	uint32_t ep = self->ep.id;

	EXPECT_ERR(EINVAL, FREE, (struct dat_free) { .type = DAT_OBJ_NONE, .id = ep });
	EXPECT_ERR(EINVAL, FREE, (struct dat_free) { .type = DAT_OBJ_IA, .id = ep });
	EXPECT_ERR(EOPNOTSUPP, FREE, (struct dat_free) { .type = T_OBJ_LAST, .id = ep });
	EXPECT_ERR(EOPNOTSUPP, FREE, (struct dat_free) { .type = ~0U, .id = ep });
}

TEST_F(reserved, counts_out_of_range_are_EINVAL)
{
	uint32_t evd = self->evd.id, pz = self->pz;
	const struct dat_ia_query *lim = &self->f.info;

	EXPECT_ERR(EINVAL, EVD_CREATE, (struct dat_evd_create) { .streams = 0x20, .qlen = 0 });
	EXPECT_ERR(EINVAL, EVD_CREATE, (struct dat_evd_create) { .streams = 0x20, .qlen = ~0U });
	EXPECT_ERR(EINVAL, EVD_CREATE, (struct dat_evd_create) {
		   .streams = 0x20, .qlen = lim->max_evd_qlen + 1 });
	EXPECT_ERR(EINVAL, EVD_WAIT, (struct dat_evd_wait) { .id = evd, .threshold = 0 });
	EXPECT_ERR(EINVAL, EVD_WAIT, (struct dat_evd_wait) { .id = evd, .threshold = 9 });
	EXPECT_ERR(EINVAL, EVD_WAIT, (struct dat_evd_wait) { .id = evd, .threshold = ~0U });
	EXPECT_ERR(EINVAL, EVD_POLL, (struct dat_evd_poll) {
		   .id = evd, .spin_us = DAT_MAX_SPIN_US + 1 });
	EXPECT_ERR(EINVAL, EVD_POLL, (struct dat_evd_poll) { .id = evd, .spin_us = ~0U });
	EXPECT_ERR(EINVAL, EVD_RESIZE, (struct dat_evd_resize) { .id = evd, .qlen = 0 });
	EXPECT_ERR(EINVAL, EVD_RESIZE, (struct dat_evd_resize) { .id = evd, .qlen = ~0U });
	EXPECT_ERR(EINVAL, SRQ_RESIZE, (struct dat_srq_resize) { .id = evd });
	EXPECT_ERR(EINVAL, SRQ_RESIZE, (struct dat_srq_resize) { .id = evd, .max_recv = ~0U });
	EXPECT_ERR(EINVAL, CR_HANDOFF, (struct dat_cr_handoff) { .id = evd });
	EXPECT_ERR(EINVAL, LMR_CREATE, (struct dat_lmr_create) { .pz = pz, .addr = 4096 });
	EXPECT_ERR(EINVAL, LMR_CREATE, (struct dat_lmr_create) {
		   .pz = pz, .addr = ~0ULL - 10, .length = 4096 });
	EXPECT_ERR(EINVAL, LMR_CREATE, (struct dat_lmr_create) {
		   .pz = pz, .addr = 4096, .length = ~0ULL });
	EXPECT_ERR(EINVAL, SRQ_CREATE, (struct dat_srq_create) { .pz = pz, .max_iov = 1 });
	EXPECT_ERR(EINVAL, SRQ_CREATE, (struct dat_srq_create) { .pz = pz, .max_recv = 1 });
	EXPECT_ERR(EINVAL, SRQ_CREATE, (struct dat_srq_create) {
		   .pz = pz, .max_recv = ~0U, .max_iov = 1 });
	EXPECT_ERR(EINVAL, SRQ_CREATE, (struct dat_srq_create) {
		   .pz = pz, .max_recv = lim->max_recv_per_srq + 1, .max_iov = 1 });
	EXPECT_ERR(EINVAL, SRQ_CREATE, (struct dat_srq_create) {
		   .pz = pz, .max_recv = 1, .max_iov = DAT_MAX_SGE + 1 });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) { .pz = pz, .max_recv = ~0U });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) { .pz = pz, .max_request = ~0U });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) {
		   .pz = pz, .max_recv = lim->max_dto_per_ep + 1 });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) {
		   .pz = pz, .max_request = lim->max_dto_per_ep + 1 });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) {
		   .pz = pz, .max_recv_iov = lim->max_iov + 1 });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) {
		   .pz = pz, .max_request_iov = lim->max_iov + 1 });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) {
		   .pz = pz, .read_in = lim->max_rdma_read_in + 1 });
	EXPECT_ERR(EINVAL, EP_CREATE, (struct dat_ep_create) {
		   .pz = pz, .read_out = lim->max_rdma_read_out + 1 });
}

/* A call with a value equal to a limit from IA_QUERY passes the range check. */
TEST_F_TIMEOUT(reserved, the_limits_themselves_are_not_out_of_range, 60)
{
	const struct dat_ia_query *lim = &self->f.info;
	uint32_t evd = self->evd.id, pz = self->pz;

	EXPECT_ERR(0, EVD_CREATE, (struct dat_evd_create) {
		   .streams = 0x20, .qlen = lim->max_evd_qlen });
	EXPECT_ERR(EAGAIN, EVD_POLL, (struct dat_evd_poll) {
		   .id = evd, .spin_us = DAT_MAX_SPIN_US });
	EXPECT_ERR(0, SRQ_CREATE, (struct dat_srq_create) {
		   .pz = pz, .max_recv = lim->max_recv_per_srq, .max_iov = 1 });
	EXPECT_ERR(0, EP_CREATE, (struct dat_ep_create) {
		   .pz = pz, .recv_evd = evd, .max_recv = lim->max_dto_per_ep,
		   .max_request = lim->max_dto_per_ep, .max_recv_iov = 1,
		   .max_request_iov = 1 });
	EXPECT_ERR(0, EP_CREATE, (struct dat_ep_create) {
		   .pz = pz, .recv_evd = evd, .max_recv = 1, .max_request = 1,
		   .max_recv_iov = lim->max_iov, .max_request_iov = lim->max_iov,
		   .read_in = lim->max_rdma_read_in, .read_out = lim->max_rdma_read_out });
}

TEST_F(reserved, connect_checks_its_argument)
{
	struct dat_ep_connect good = {
		.id = self->ep.id, .conn_qual = T_QUAL, .timeout_us = 1000,
	}, arg;
	uint32_t len;

	memcpy(good.addr, self->f.info.addr, sizeof(good.addr));
	good.addr_len = self->f.info.addr_len;
	arg = good, arg.conn_qual = 0;
	EXPECT_ERR(EINVAL, EP_CONNECT, arg);
	arg = good, arg.timeout_us = 0;
	EXPECT_ERR(EINVAL, EP_CONNECT, arg);
	arg = good, arg.pd_len = self->f.info.max_pd_request + 1;
	EXPECT_ERR(EINVAL, EP_CONNECT, arg);
	arg = good, arg.pd_len = ~0U;
	EXPECT_ERR(EINVAL, EP_CONNECT, arg);
	for (len = 0; len < 256; len++) {
		if (len == good.addr_len)
			continue;
		arg = good, arg.addr_len = len;
		EXPECT_ERR(EINVAL, EP_CONNECT, arg);
	}
	arg = good, arg.addr_len = ~0U;
	EXPECT_ERR(EINVAL, EP_CONNECT, arg);
	arg = good, memset(arg.addr, 0xff, 2);
	EXPECT_ERR(EAFNOSUPPORT, EP_CONNECT, arg);
	arg = good, memset(arg.addr, 0, 2);
	EXPECT_ERR(EAFNOSUPPORT, EP_CONNECT, arg);
	/* All calls failed without changing the EP. */
	EXPECT_EQ(0, self->ep.st->state);
}

TEST_F(reserved, second_IA_OPEN_is_EBUSY)
{
	struct dat_ia_open arg = { 0 };

	strcpy((char *)arg.name, (char *)self->f.info.device);
	EXPECT_ERR(EBUSY, IA_OPEN, arg);
}

/* Go on behind a cursor.  Only the adapter within the host, which is listed last, may come. */
static int list_behind(int fd, uint64_t cursor)
{
	struct dat_adapter adapter = { .size = sizeof(adapter), .cursor = cursor };
	int ret = t_ioctl(fd, DAT_IOC_ADAPTER, &adapter);

	if (!ret && !strcmp((char *)adapter.name, "lo0"))
		ret = t_ioctl(fd, DAT_IOC_ADAPTER, &adapter);
	return ret;
}

TEST(unknown_adapters_are_ENOENT_and_endless_names_EINVAL)
{
	struct dat_ia_open arg = { .size = sizeof(arg), .name = "nosuch0" };
	int fd = open("/dev/dat", O_RDWR);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOENT, t_ioctl(fd, DAT_IOC_IA_OPEN, &arg));
	memset(arg.name, 0, sizeof(arg.name));
	EXPECT_EQ(-ENOENT, t_ioctl(fd, DAT_IOC_IA_OPEN, &arg));
	EXPECT_EQ(-ENOENT, list_behind(fd, ~0ULL >> 1));
	EXPECT_EQ(-ENOENT, list_behind(fd, ~0ULL));
	memset(arg.name, 'x', sizeof(arg.name));
	EXPECT_EQ(-EINVAL, t_ioctl(fd, DAT_IOC_IA_OPEN, &arg));
	close(fd);
}

TEST_HARNESS_MAIN
