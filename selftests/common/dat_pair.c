// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Connections between two EPs of one process, for tests that need a connection. */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dat_test.h"

#define T_EP_STREAMS (DAT_STREAM_DTO | DAT_STREAM_CONNECTION)

int t_pair_open(struct t_pair *p)
{
	return t_pair_open_at(p, NULL);
}

int t_pair_open_at(struct t_pair *p, const char *at)
{
	int ret, i;

	memset(p, 0, sizeof(*p));
	ret = t_open_at(&p->f, at);
	if (!ret)
		ret = t_pz(&p->f, &p->pz);
	if (!ret)
		ret = t_lmr(&p->f, p->pz, 1 << 20, T_PRIV_ALL, &p->mem);
	if (!ret)
		ret = t_evd(&p->f, DAT_STREAM_CR, 8, &p->cr);
	for (i = 0; i < 2 && !ret; i++) {
		ret = t_evd(&p->f, T_EP_STREAMS, 256, &p->evd[i]);
		if (!ret)
			ret = t_ep(&p->f, p->pz, &p->evd[i], 0, i + 1, &p->ep[i]);
	}
	return ret ? ret : t_psp(&p->f, &p->cr, T_QUAL, &p->psp);
}

/* Connect @ep[1] to @ep[0] through the listener of the pair.  Both EVDs in @evd must be empty. */
int t_connect_eps(struct t_pair *p, struct t_ep *ep, struct t_evd *evd)
{
	struct dat_eqe eqe;
	int ret, i;

	ret = t_connect(&p->f, &ep[1], T_QUAL, NULL, 0);
	if (ret)
		return ret;
	if (!t_event(&p->cr, T_WAIT_MS, &eqe))
		return -ETIMEDOUT;
	ret = t_accept(&p->f, (uint32_t)eqe.len, &ep[0], NULL, 0);
	for (i = 0; i < 2 && !ret; i++) {
		if (!t_event(&evd[i], T_WAIT_MS, &eqe))
			return -ETIMEDOUT;
		if (eqe.type != DAT_EV_ESTABLISHED)
			return -ECONNREFUSED;
	}
	return ret;
}

int t_reconnect_eps(struct t_pair *p, struct t_ep *ep, struct t_evd *evd)
{
	struct dat_eqe eqe;
	int i, ret = 0;

	for (i = 0; i < 2; i++)
		t_disconnect(&p->f, &ep[i], 0);
	for (i = 0; i < 2; i++)
		while (ep[i].st->state != 11)
			if (!t_event(&evd[i], T_WAIT_MS, &eqe))
				return -ETIMEDOUT;
	for (i = 0; i < 2 && !ret; i++)
		ret = t_reset(&p->f, &ep[i]);
	for (i = 0; i < 2; i++)
		while (t_event(&evd[i], 0, &eqe))
			;
	return ret ? ret : t_connect_eps(p, ep, evd);
}

int t_pair_connect(struct t_pair *p)
{
	return t_connect_eps(p, p->ep, p->evd);
}

/* The mappings of the pair stay until t_pair_unmap() or until the process ends. */
void t_pair_close(struct t_pair *p)
{
	t_close(&p->f);
}

static void unmap_sides(struct t_evd *evd, struct t_ep *ep)
{
	int i;

	for (i = 0; i < 2; i++) {
		t_unmap(&evd[i].submit);
		t_unmap(&evd[i].status);
		t_unmap(&evd[i].ring);
		t_unmap(&ep[i].submit);
		t_unmap(&ep[i].status);
	}
}

void t_pair_unmap(struct t_pair *p)
{
	unmap_sides(p->evd, p->ep);
	t_unmap(&p->cr.submit);
	t_unmap(&p->cr.status);
	t_unmap(&p->cr.ring);
	munmap(p->mem.va, p->mem.size);
}

int t_link_open(struct t_pair *p, struct t_link *l)
{
	int ret = 0, i;

	memset(l, 0, sizeof(*l));
	for (i = 0; i < 2 && !ret; i++) {
		ret = t_evd(&p->f, T_EP_STREAMS, 64, &l->evd[i]);
		if (!ret)
			ret = t_ep(&p->f, p->pz, &l->evd[i], 0, 10 + i, &l->ep[i]);
	}
	return ret ? ret : t_connect_eps(p, l->ep, l->evd);
}

/*
 * Send one message from l->ep[1] to l->ep[0].  Return 0 if the message arrives and the two EVDs
 * deliver only the two completions of this message.
 */
int t_link_works(struct t_pair *p, struct t_link *l)
{
	uint64_t addr = (uintptr_t)p->mem.va;
	struct dat_eqe eqe;
	int ret, i;

	ret = t_recv(&l->ep[0].rq, 0, addr, p->mem.lkey, 64);
	if (!ret)
		ret = t_send(&l->ep[1], 1, addr, p->mem.lkey, 64);
	for (i = 0; i < 2 && !ret; i++) {
		if (!t_event(&l->evd[i], T_WAIT_MS, &eqe))
			return -ETIMEDOUT;
		if (eqe.type != DAT_EV_DTO || eqe.status || eqe.cookie != (uint64_t)i)
			return -EIO;
	}
	return ret;
}

void t_link_close(struct t_pair *p, struct t_link *l)
{
	int i;

	for (i = 0; i < 2; i++) {
		t_free(&p->f, DAT_OBJ_EP, l->ep[i].id);
		t_free(&p->f, DAT_OBJ_EVD, l->evd[i].id);
	}
	unmap_sides(l->evd, l->ep);
}

int t_end(struct t_evd *evd, unsigned int count[16])
{
	struct dat_eqe eqe;

	memset(count, 0, 16 * sizeof(count[0]));
	while (t_event(evd, T_WAIT_MS, &eqe)) {
		if (eqe.type != DAT_EV_DTO)
			return (int)eqe.type;
		count[eqe.status & 15]++;
	}
	return 0;
}

static void container_main(struct t_container *c, int (*fn)(struct t_file *f, void *arg),
			   void *arg)
{
	struct t_file f;
	int ret, i;
	char go;

	ret = unshare(CLONE_NEWNET) ? -ENODEV : 0;
	write(c->say[1], &ret, sizeof(ret));
	if (read(c->go[0], &go, 1) != 1)
		_exit(1);
	system("ip addr add 10.9.0.77/24 dev dat-test 2>/dev/null && ip link set dat-test up");
	ret = -ENODEV;
	for (i = 0; i < 50 && ret; i++) {
		ret = t_open(&f);
		if (ret)
			usleep(100000);
	}
	if (!ret)
		ret = fn(&f, arg);
	write(c->say[1], &ret, sizeof(ret));
	read(c->go[0], &go, 1);
	_exit(0);
}

/* Set @name to the name of the device's network interface, or to "" if the device has none. */
static void interface(const struct t_file *f, char *name, size_t len)
{
	char path[PATH_MAX];
	FILE *file;

	name[0] = 0;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0",
		 f->info.device);
	file = fopen(path, "r");
	if (!file)
		return;
	if (fgets(name, len, file))
		name[strcspn(name, "\n")] = 0;
	fclose(file);
}

static int give_interface(const struct t_file *f, pid_t pid)
{
	char dev[32], cmd[160];

	if (!t_is_device(f))
		return 0;
	interface(f, dev, sizeof(dev));
	snprintf(cmd, sizeof(cmd), "modprobe -q macvlan; "
		 "ip link add dat-test link %s netns %d type macvlan mode bridge 2>/dev/null",
		 dev, pid);
	return system(cmd) ? -ENODEV : 0;
}

int t_container_start(struct t_container *c, const struct t_file *f,
		      int (*fn)(struct t_file *f, void *arg), void *arg)
{
	int ret;

	if (pipe(c->say) || pipe(c->go))
		return -errno;
	c->pid = fork();
	if (!c->pid)
		container_main(c, fn, arg);
	if (read(c->say[0], &ret, sizeof(ret)) != sizeof(ret))
		ret = -EIO;
	if (!ret)
		ret = give_interface(f, c->pid);
	if (ret) {
		t_container_end(c);
		return ret;
	}
	write(c->go[1], "", 1);
	return read(c->say[0], &ret, sizeof(ret)) == sizeof(ret) ? ret : -EIO;
}

void t_container_end(struct t_container *c)
{
	int i;

	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	for (i = 0; i < 2; i++) {
		close(c->say[i]);
		close(c->go[i]);
	}
}
