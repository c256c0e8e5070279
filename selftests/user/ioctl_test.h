/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* An object of each kind that ioctls take, and ioctls that have to fail. */
#ifndef IOCTL_TEST_H
#define IOCTL_TEST_H

#include "kselftest_harness.h"
#include "dat_test.h"

#define IOCTL_FIXTURE(name)							\
FIXTURE(name) {									\
	struct t_file f;							\
	uint32_t pz;								\
	struct t_evd evd;							\
	struct t_ep ep;								\
};										\
										\
FIXTURE_SETUP(name)								\
{										\
	ASSERT_EQ(0, t_open(&self->f));						\
	ASSERT_EQ(0, t_pz(&self->f, &self->pz));				\
	ASSERT_EQ(0, t_evd(&self->f, T_STREAM_ALL, 8, &self->evd));		\
	ASSERT_EQ(0, t_ep(&self->f, self->pz, &self->evd, 0, 1, &self->ep));	\
}										\
										\
FIXTURE_TEARDOWN(name)								\
{										\
	t_close(&self->f);							\
}

/* The argument is a compound literal, whose size is filled in. */
#define EXPECT_ERR(err, CMD, ...) do {						\
	typeof(__VA_ARGS__) _arg = __VA_ARGS__;					\
	_arg.size = sizeof(_arg);						\
	EXPECT_EQ(-(err), t_ioctl(self->f.fd, DAT_IOC_##CMD, &_arg))		\
		TH_LOG("%s", #__VA_ARGS__);					\
} while (0)

#endif /* IOCTL_TEST_H */
