// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The context of the process: the open device. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "librsm.h"
#include "../common/log.h"

/* The first fields of every ioctl argument. */
struct head {
	uint32_t size;
	uint32_t err;
};

static pthread_mutex_t ctx_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rsm_ctx *ctx_now;
static int watch_error;	/* the device cannot be opened then */

/*
 * Take all locks that the child will need, outer to inner.  Otherwise another thread might hold one
 * of them during the fork, and the child could never take that lock.
 */
static void fork_prepare(void)
{
	rsm_ctlr_lock();
	pthread_mutex_lock(&ctx_lock);
	rsm_poll_lock();
	du_arena_lock();
}

static void fork_parent(void)
{
	du_arena_unlock();
	rsm_poll_unlock();
	pthread_mutex_unlock(&ctx_lock);
	rsm_ctlr_unlock();
}

/*
 * Mark the context as foreign in the child, because the device and all of its objects belong to the
 * parent.
 */
static void fork_child(void)
{
	if (ctx_now) {
		ctx_now->foreign = 1;
		du_file_close(&ctx_now->file);
		ctx_now = NULL;
	}
	fork_parent();
}

/* A constructor, because rsm_get_controller() takes a lock before it opens the device. */
static void __attribute__((constructor)) watch_forks(void)
{
	watch_error = -pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static int rsm_errno(int err)
{
	switch (-err) {
	case EPROTO:
	case ENOTTY:
	case EINVAL:	/* the library has checked the arguments, so the ABI differs */
	case E2BIG:
	case EOPNOTSUPP:
		return RSMERR_BAD_LIBRARY_VERSION;
	case ENOMEM:
		return RSMERR_INSUFFICIENT_MEM;
	case EMFILE:
	case ENFILE:
	case EAGAIN:
		return RSMERR_INSUFFICIENT_RESOURCES;
	case EFAULT:
		return RSMERR_BAD_ADDR;
	case EINTR:
		return RSMERR_INTERRUPTED;
	default:
		return RSMERR_CTLR_NOT_PRESENT;
	}
}

void rsm_explain_conf(const struct rsm_ctx *ctx)
{
	struct dat_rsm_nodes arg = { .size = sizeof(arg) };

	if (!rsm_call(ctx, DAT_IOC_RSM_NODES, &arg) && arg.state) {
		du_log(DU_LOG_ERROR,
		       "the nodes have different cluster keys, or only one trusts the network, or the exporter's adapter cannot deny a peer access before its proof: the kernel's log says which; see Trust in rsm(7)");
		return;
	}
	du_log(DU_LOG_ERROR,
	       "RSM uses adapters among nodes with the same cluster key, which this one does not have: 'rsm-nodes keygen' makes a key, once for all nodes, and 'rsm-nodes key' loads it; see rsm-nodes(8)");
}

static int call_result(int ret, const struct head *head)
{
	if (ret == -EREMOTEIO)
		return (int)head->err;
	return ret ? rsm_errno(ret) : RSM_SUCCESS;
}

int rsm_call(const struct rsm_ctx *ctx, unsigned long cmd, void *arg)
{
	return ctx->foreign ? RSMERR_NOT_CREATOR :
			      call_result(du_file_ioctl(&ctx->file, cmd, arg), arg);
}

int rsm_wait(const struct rsm_ctx *ctx, struct dat_rsm_wait *arg)
{
	return ctx->foreign ? RSMERR_NOT_CREATOR :
			      call_result(du_file_wait(&ctx->file, DAT_IOC_RSM_WAIT, arg),
					  (struct head *)arg);
}

/*
 * Start the poller if RSM_POLLER_US asks for it.  Errors are only logged, because transfers work
 * without the poller.
 */
static void start_poller(struct rsm_ctx *ctx)
{
	const char *env = secure_getenv("RSM_POLLER_US");
	unsigned long us;
	char *end;
	int ret;

	if (!env || !*env)
		return;
	us = strtoul(env, &end, 10);
	if (!*end && !us)
		return;
	if (*end || us > DAT_MAX_POLLER_IDLE_US) {
		du_log(DU_LOG_ERROR, "RSM_POLLER_US is %s, not 0 to %d microseconds: there is no poller",
		       env, DAT_MAX_POLLER_IDLE_US);
		return;
	}
	ret = du_poller_set(&ctx->file, (uint32_t)us);
	if (!ret) {
		ret = du_poller_start(&ctx->poller, &ctx->file);
		if (ret)
			du_poller_set(&ctx->file, 0);
	}
	if (ret)
		du_log(DU_LOG_ERROR, "the poller of RSM_POLLER_US does not start: %s", strerror(-ret));
}

void rsm_ctx_start_poller(struct rsm_ctx *ctx)
{
	pthread_mutex_lock(&ctx_lock);
	if (!ctx->poller_asked)
		start_poller(ctx);
	ctx->poller_asked = 1;
	pthread_mutex_unlock(&ctx_lock);
}

static int ctx_map(struct rsm_ctx *ctx, const struct dat_rsm_open *arg)
{
	uint64_t n = arg->slots_size / sizeof(struct dat_rsm_slot);
	int ret;

	if (arg->nr_slots > n || arg->mem_slot >= n)
		return RSMERR_BAD_LIBRARY_VERSION;
	ret = du_map(ctx->file.fd, arg->slots_offset, arg->slots_size, 0, &ctx->slots);
	if (ret)
		return rsm_errno(ret);
	ctx->mem = (const struct dat_rsm_slot *)ctx->slots.va + arg->mem_slot;
	return RSM_SUCCESS;
}

static int ctx_setup(struct rsm_ctx *ctx)
{
	struct dat_rsm_open arg = { .size = sizeof(arg) };
	int fd = du_dev_open(DU_DEV_RSM, 0), ret;

	if (fd < 0)
		return rsm_errno(fd);
	du_file_init(&ctx->file, fd);
	ret = rsm_call(ctx, DAT_IOC_RSM_OPEN, &arg);
	if (!ret)
		ret = ctx_map(ctx, &arg);
	if (ret)
		du_close(fd);
	return ret;
}

int rsm_ctx_get(struct rsm_ctx **out)
{
	struct rsm_ctx *ctx;
	int ret = RSM_SUCCESS;

	if (watch_error)
		return rsm_errno(watch_error);
	pthread_mutex_lock(&ctx_lock);
	ctx = ctx_now;
	if (!ctx) {
		ctx = calloc(1, sizeof(*ctx));
		ret = ctx ? ctx_setup(ctx) : RSMERR_INSUFFICIENT_MEM;
		if (ret)
			free(ctx);
		else
			ctx_now = ctx;
	}
	pthread_mutex_unlock(&ctx_lock);
	*out = ctx;
	return ret;
}
