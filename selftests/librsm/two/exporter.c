// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Program on the exporting machine; see two.h. */
#include <sys/reboot.h>

#include "rsm_node.h"
#include "rsm_test.h"
#include "two.h"

struct exporter {
	void			*ctlr;
	struct two_control	*control;
	rsm_memseg_export_handle_t control_exp;
	char			*mem[2];	/* data segment, used alternately */
	int			now;
	rsm_memseg_export_handle_t data_exp;
};

static void die(const char *what, int ret)
{
	fprintf(stderr, "exporter: %s: %d\n", what, ret);
	exit(1);
}

static uint64_t op_fill(struct exporter *e, uint64_t byte)
{
	memset(e->mem[e->now], (int)byte, TWO_SIZE);
	return 0;
}

static uint64_t op_sum(struct exporter *e, uint64_t arg)
{
	const unsigned char *at = (unsigned char *)e->mem[e->now];
	uint64_t sum = 0;
	size_t i;

	(void)arg;
	for (i = 0; i < TWO_SIZE; i++)
		sum += at[i];
	return sum;
}

static uint64_t op_post(struct exporter *e, uint64_t n)
{
	uint64_t failed = 0;

	while (n--)
		failed += rsm_intr_signal_post(e->data_exp, 0) != RSM_SUCCESS;
	return failed;
}

static uint64_t op_events(struct exporter *e, uint64_t arg)
{
	uint64_t n = 0;

	(void)arg;
	while (rsm_intr_signal_wait(e->data_exp, R_QUIET_MS) == RSM_SUCCESS)
		n++;
	return n;
}

static uint64_t op_rebind(struct exporter *e, uint64_t byte)
{
	e->now = !e->now;
	op_fill(e, byte);
	return (uint64_t)rsm_memseg_export_rebind(e->data_exp, e->mem[e->now], 0, TWO_SIZE);
}

static uint64_t op_unpublish(struct exporter *e, uint64_t arg)
{
	(void)arg;
	return (uint64_t)rsm_memseg_export_unpublish(e->data_exp);
}

static uint64_t op_publish(struct exporter *e, uint64_t arg)
{
	rsm_memseg_id_t id = TWO_DATA;

	(void)arg;
	return (uint64_t)rsm_memseg_export_publish(e->data_exp, &id, NULL, 0);
}

/*
 * Before the watch begins, report the command as done, so that the importer starts to put.  Then
 * watch until the flag is @last.  Returns how often the flag arrived before its data, or ~0 if the
 * flag has not changed for R_WAIT_MS.
 */
static uint64_t op_watch(struct exporter *e, uint64_t last)
{
	volatile uint64_t *flag = (volatile uint64_t *)(e->mem[e->now] + TWO_FLAG);
	volatile uint64_t *slots = (volatile uint64_t *)(e->mem[e->now] + TWO_SLOTS);
	uint64_t seen, before = 0, early = 0, end = now_ms() + R_WAIT_MS;

	e->control->result = TWO_WATCHING;
	__atomic_store_n(&e->control->done, e->control->seq, __ATOMIC_RELEASE);
	do {
		seen = __atomic_load_n(flag, __ATOMIC_ACQUIRE);
		early += seen && slots[seen % TWO_NR_SLOTS] < seen;
		if (seen != before)
			end = now_ms() + R_WAIT_MS;
		before = seen;
	} while (seen < last && now_ms() < end);
	return seen < last ? ~0ULL : early;
}

static uint64_t op_kill(struct exporter *e, uint64_t arg)
{
	(void)e;
	(void)arg;
	kill(getpid(), SIGKILL);
	return 0;
}

/* The reboot ends a virtual machine.  A real machine starts again. */
static uint64_t op_power_off(struct exporter *e, uint64_t arg)
{
	(void)e;
	(void)arg;
	return (uint64_t)reboot(RB_AUTOBOOT);
}

static uint64_t (*const ops[])(struct exporter *e, uint64_t arg) = {
	[TWO_FILL]	= op_fill,
	[TWO_SUM]	= op_sum,
	[TWO_POST]	= op_post,
	[TWO_EVENTS]	= op_events,
	[TWO_REBIND]	= op_rebind,
	[TWO_UNPUBLISH]	= op_unpublish,
	[TWO_PUBLISH]	= op_publish,
	[TWO_WATCH]	= op_watch,
	[TWO_KILL]	= op_kill,
	[TWO_POWER_OFF]	= op_power_off,
};

static void *export(struct exporter *e, void *mem, size_t size, rsm_memseg_id_t id,
		    rsmapi_access_entry_t *list, unsigned int n)
{
	rsm_memseg_export_handle_t exp;
	int ret = rsm_memseg_export_create(e->ctlr, &exp, mem, size, RSM_ALLOW_REBIND);

	if (!ret)
		ret = rsm_memseg_export_publish(exp, &id, list, n);
	if (ret)
		die("export", ret);
	return exp;
}

static void serve(struct exporter *e)
{
	struct two_control *c = e->control;
	uint64_t op;
	int ret;

	for (;;) {
		ret = rsm_intr_signal_wait(e->control_exp, -1);
		if (ret)
			die("wait", ret);
		op = c->op;
		c->result = op < sizeof(ops) / sizeof(ops[0]) ? ops[op](e, c->arg) : ~0ULL;
		__atomic_store_n(&c->done, c->seq, __ATOMIC_RELEASE);
	}
}

int main(void)
{
	const struct dat_rsm_node other = r_node_at(TWO_IMPORTER, TWO_ADDR_2);
	rsmapi_access_entry_t us = { .ae_node = TWO_EXPORTER, .ae_permission = 0666 };
	struct exporter e = { };
	int ret;

	if (r_nodes(&other, 1, TWO_EXPORTER))
		die("nodes", -1);
	ret = rsm_get_controller(r_ctlr(), &e.ctlr);
	if (ret)
		die("controller", ret);
	umask(0);
	e.control = (struct two_control *)r_mem(R_PAGE);
	e.mem[0] = r_mem(TWO_SIZE);
	e.mem[1] = r_mem(TWO_SIZE);
	e.data_exp = export(&e, e.mem[0], TWO_SIZE, TWO_DATA, NULL, 0);
	export(&e, r_mem(R_PAGE), R_PAGE, TWO_PRIVATE, &us, 1);
	e.control_exp = export(&e, e.control, R_PAGE, TWO_CONTROL, NULL, 0);
	puts("ready");
	fflush(stdout);
	serve(&e);
	return 1;
}
