// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The RSM topology: the controllers, the nodes behind each controller, and which nodes answer. */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/ipv6.h>

#include "lib/device.h"
#include "rsm/rdma.h"

/* Result of a topology survey. */
struct rsm_survey {
	u32			count;
	/*
	 * Links, in the order of the controllers.  The links of a controller are the LOCAL link,
	 * the link to this node, and the links to other nodes, in this order.
	 */
	struct dat_rsm_link	links[];
};

/* State that all probes of a survey share. */
struct probing {
	atomic_t		left;	/* number of queued probes that have not finished */
	bool			stop;	/* flag: probes that have not begun do nothing */
	wait_queue_head_t	wq;	/* woken when @left is 0 */
};

/* A probe of one node through one adapter. */
struct probe {
	struct probing		*all;
	struct work_struct	work;
	struct rsm_ctlr		*ctlr;	/* adapter; the probe of the LOCAL link has a reference */
	struct dat_rsm_link	*link;	/* link whose state the probe sets */
};

static struct workqueue_struct *probe_wq;

/* Returns the IPv4 address, or the lower 64 bits of the IPv6 address, in host byte order. */
static u64 addr_number(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *in6 = (const void *)ss;
	__be64 half;

	if (ss->ss_family == AF_INET)
		return be32_to_cpu(((const struct sockaddr_in *)ss)->sin_addr.s_addr);
	memcpy(&half, &in6->sin6_addr.s6_addr[8], sizeof(half));
	return ss->ss_family == AF_INET6 ? be64_to_cpu(half) : 0;
}

static void survey_add(struct rsm_survey *s, u32 ctlr, u32 node, u32 flags, bool active)
{
	s->links[s->count++] = (struct dat_rsm_link) {
		.ctlr = ctlr, .node = node, .flags = flags,
		.state = active ? DAT_RSM_LINK_ACTIVE : DAT_RSM_LINK_DOWN,
	};
}

/*
 * Lists all links, without probing the nodes.  The state of a link is ACTIVE if the adapter's port
 * is up.  The caller frees *@out by kvfree().
 */
static int survey_list(struct rsm_node *node, struct rsm_survey **out)
{
	u32 self = READ_ONCE(node->id), n = 0, i;
	struct rsm_survey *s;
	struct rsm_table *t;
	bool active;
	int ret;

	ret = rsm_table_copy(node, &t);
	if (ret)
		return ret;
	s = kvmalloc(struct_size(s, links, 2 * RSM_MAX_CTLRS + t->count), GFP_KERNEL_ACCOUNT);
	if (!s) {
		kvfree(t);
		return -ENOMEM;
	}
	s->count = 0;
	while ((n = rsm_ctlr_next(node, n, &active))) {
		survey_add(s, n, self, DAT_RSM_LINK_LOCAL, active);
		survey_add(s, n, self, 0, active);
		for (i = 0; i < t->count; i++)
			if (t->nodes[i].ctlr == n && t->nodes[i].node != self)
				survey_add(s, n, t->nodes[i].node, 0, active);
	}
	kvfree(t);
	*out = s;
	return 0;
}

static void probe_work(struct work_struct *work)
{
	struct probe *p = container_of(work, struct probe, work);

	if (READ_ONCE(p->all->stop) || rsm_remote_probe(p->ctlr, p->link->node))
		p->link->state = DAT_RSM_LINK_DOWN;
	/* p->all stays valid until this work item ends, because survey_ask() flushes the work. */
	if (atomic_dec_and_test(&p->all->left))
		wake_up_all(&p->all->wq);
}

/*
 * Sets the address of a link of an open adapter, and queues the probe of the link.  A link to this
 * node, and a link through a port that is down, need no probe.
 */
static void link_ask(struct probe *p, struct rsm_ctlr *ctlr, struct dat_rsm_link *link, u32 self)
{
	struct sockaddr_storage addr;

	if (rsm_node_addr(ctlr, link->node, &addr)) {
		/* Since survey_list(), the table or the id of this node has changed. */
		link->state = DAT_RSM_LINK_DOWN;
		return;
	}
	link->hwaddr = addr_number(&addr);
	if (link->node == self || link->state != DAT_RSM_LINK_ACTIVE)
		return;
	p->ctlr = ctlr;
	p->link = link;
	atomic_inc(&p->all->left);
	queue_work(probe_wq, &p->work);
}

/*
 * Probes all nodes in parallel.  The workqueue runs at least 512 probes at a time.  A probe takes
 * two seconds if the node does not answer, or four seconds if the node accepts and then sends
 * nothing.  A killed caller waits only for the probes that have begun.
 */
static int survey_ask(struct rsm_node *node, struct rsm_survey *s, struct probe *probes)
{
	struct probing all = { .left = ATOMIC_INIT(0) };
	struct rsm_ctlr *ctlr = NULL;
	int ret = 0;
	u32 self = 0, i;

	init_waitqueue_head(&all.wq);
	for (i = 0; i < s->count; i++) {
		struct dat_rsm_link *link = &s->links[i];

		INIT_WORK(&probes[i].work, probe_work);
		probes[i].all = &all;
		if (link->flags & DAT_RSM_LINK_LOCAL) {
			self = link->node;
			/* A killed caller opens no further adapters, because an open takes long. */
			if (fatal_signal_pending(current) ||
			    rsm_ctlr_get(node, link->ctlr, &ctlr))
				ctlr = NULL;
			probes[i].ctlr = ctlr;
		}
		if (ctlr)
			link_ask(&probes[i], ctlr, link, self);
		else
			link->state = DAT_RSM_LINK_DOWN;
	}
	/* A killed caller gets no result, even if the wait ends at once. */
	if (wait_event_killable(all.wq, !atomic_read(&all.left)) ||
	    fatal_signal_pending(current)) {
		WRITE_ONCE(all.stop, true);
		ret = -EINTR;
	}
	for (i = 0; i < s->count; i++)
		flush_work(&probes[i].work);
	for (i = 0; i < s->count; i++)
		if (s->links[i].flags & DAT_RSM_LINK_LOCAL && probes[i].ctlr)
			rsm_ctlr_put(probes[i].ctlr);
	return ret;
}

static int survey_make(struct rsm_node *node)
{
	struct rsm_survey *s;
	struct probe *probes;
	int ret;

	lockdep_assert_held(&node->survey_lock);
	WRITE_ONCE(node->surveys, node->surveys + 1);
	kvfree(node->survey);
	node->survey = NULL;
	ret = survey_list(node, &s);
	if (ret)
		return ret;
	probes = kvcalloc(s->count, sizeof(*probes), GFP_KERNEL_ACCOUNT);
	if (!probes && s->count) {
		kvfree(s);
		return -ENOMEM;
	}
	ret = survey_ask(node, s, probes);
	kvfree(probes);
	if (ret)
		kvfree(s);
	else
		node->survey = s;
	return ret;
}

static struct rsm_survey *survey_copy(const struct rsm_survey *s)
{
	struct rsm_survey *copy;

	copy = kvmalloc(struct_size(s, links, s->count), GFP_KERNEL_ACCOUNT);
	if (copy)
		memcpy(copy, s, struct_size(s, links, s->count));
	return copy;
}

/*
 * Copies the result of a survey that began after this call.  The caller frees *@out by kvfree().
 * Only one survey runs at a time, so that many callers do not load the network.  If the survey of
 * another caller began while this call waited for survey_lock, this call copies that result.
 */
static int survey_get(struct rsm_node *node, struct rsm_survey **out)
{
	u32 before = READ_ONCE(node->surveys);
	int ret = 0;

	if (mutex_lock_killable(&node->survey_lock))
		return -EINTR;
	if (node->surveys == before || !node->survey)
		ret = survey_make(node);
	if (!ret) {
		*out = survey_copy(node->survey);
		ret = *out ? 0 : -ENOMEM;
	}
	mutex_unlock(&node->survey_lock);
	return ret;
}

int rsm_topology(struct dat_ucmd *ucmd)
{
	struct rsm_node *node = rsm_ucmd_node(ucmd);
	struct dat_rsm_topology *arg = ucmd->arg;
	u32 room = arg->count;
	struct rsm_survey *s;
	int ret;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	ret = room ? dat_check_entry_size(arg->entry_size, sizeof(*s->links)) : 0;
	if (ret)
		return ret;
	/* A caller without room for links only gets the number of links, which needs no probes. */
	ret = room ? survey_get(node, &s) : survey_list(node, &s);
	if (ret)
		return ret;
	if (s->count <= room)
		ret = dat_copy_array_to(arg->list, arg->entry_size, s->links, sizeof(*s->links),
					s->count);
	arg->count = s->count;
	arg->node = READ_ONCE(node->id);
	kvfree(s);
	return ret;
}

int rsm_topology_init(void)
{
	probe_wq = alloc_workqueue("dat-rsm-probe", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE);
	return probe_wq ? 0 : -ENOMEM;
}

void rsm_topology_exit(void)
{
	destroy_workqueue(probe_wq);
}
