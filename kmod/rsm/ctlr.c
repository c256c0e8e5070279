// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* RSM controllers: numbers for the adapters of a node, and opening and closing of adapters. */
#include <linux/cred.h>
#include <linux/key.h>
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "lib/state.h"
#include "rsm/rdma.h"

/*
 * Queue length for connection events.  A connection has at most CTLR_CONN_EVENTS events: one when
 * the connection begins and one when the connection ends.  The queue also has room for the events
 * of RSM_MAX_CONNS connections that have ended locally before the upcall takes their events.
 */
#define CTLR_CONN_EVENTS 2
#define CTLR_EVENTS	(RSM_MAX_CONNS * (CTLR_CONN_EVENTS + 2))

/*
 * Queue length for connection requests: one entry for each request that a lane may admit.  The
 * queue never overflows, because the gate refuses a request if the lane is full.  The queue is no
 * longer than the listener's backlog in dat.ko, which is 1024 by default.
 */
#define CTLR_REQUESTS	(RSM_LANE_OTHERS * RSM_NODE_PLACES + RSM_OTHER_PLACES)
static_assert(CTLR_REQUESTS <= 1024);

#define CTLR_READS	16U

static_assert(CTLR_EVENTS <= KDAT_MAX_EVD_QLEN);

/*
 * Highest port at which RSM may listen.  RSM kernels connect from DAT_FIRST_PORT and above.  All
 * these ports are below PROT_SOCK.  In every network namespace, rdma_cm gives such a port only to a
 * process with CAP_NET_BIND_SERVICE in the initial user namespace.
 */
#define RSM_PORT_MAX	(DAT_FIRST_PORT - 1)

unsigned int rsm_port = 341;

static int port_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, RSM_PORT_MAX);
}

static const struct kernel_param_ops port_ops = {
	.set = port_set,
	.get = param_get_uint,
};

module_param_cb(port, &port_ops, &rsm_port, 0644);
MODULE_PARM_DESC(port, "Port, 1 to 511, where RSM listens on adapters opened later (341)");

static bool rsm_local;
module_param_named(local, rsm_local, bool, 0644);
MODULE_PARM_DESC(local, "Number adapters that reach only this host as well, for tests (N)");

void rsm_ctlrs_init(struct rsm_node *node)
{
	mutex_init(&node->ctlr_lock);
	init_waitqueue_head(&node->ctlr_wq);
	spin_lock_init(&node->key_lock);
	mutex_init(&node->survey_lock);
	INIT_LIST_HEAD(&node->ctlrs);
}

/*
 * Frees the adapters' part of a node.  No adapter is open, because an open adapter holds a
 * reference to the network namespace.
 */
void rsm_ctlrs_exit(struct rsm_node *node)
{
	while (node->nr_names)
		kfree(node->names[--node->nr_names]);
	kvfree(rcu_dereference_protected(node->table, true));
	kvfree(node->survey);
	key_put(node->key);
}

static bool name_known(const struct rsm_node *node, const char *name)
{
	unsigned int i;

	for (i = 0; i < node->nr_names; i++)
		if (!strcmp(node->names[i], name))
			return true;
	return false;
}

/* Returns false if no further adapter can get a number. */
static bool name_add(struct rsm_node *node, const char *name)
{
	bool added;

	mutex_lock(&node->ctlr_lock);
	added = name_known(node, name);
	if (!added && node->nr_names < RSM_MAX_CTLRS) {
		node->names[node->nr_names] = kstrdup(name, GFP_KERNEL);
		added = node->names[node->nr_names];
		if (added)
			WRITE_ONCE(node->nr_names, node->nr_names + 1);
	}
	mutex_unlock(&node->ctlr_lock);
	return added;
}

/*
 * Assigns numbers to new adapters.  The number of a removed adapter stays reserved.  The search for
 * adapters looks at their addresses, so ctlr_lock is not held meanwhile.
 *
 * An adapter that reaches this host only gets no number: the loopback controller serves this host
 * without it, and a node without another adapter must not look like one of a cluster.
 */
static void names_update(struct rsm_node *node)
{
	char name[DAT_NAME_SIZE];
	u64 cursor = 0;
	bool local;

	while (!kdat_adapter_next(node->net, &cursor, name, &local))
		if ((!local || READ_ONCE(rsm_local)) && !name_add(node, name))
			break;
}

/*
 * Returns the name of the adapter with controller number @number, or NULL if there is no such
 * number.  The adapter may have been removed, but the name stays valid.  May sleep.
 */
static const char *ctlr_name(struct rsm_node *node, u32 number)
{
	const char *name = NULL;

	if (number == DAT_RSM_LOOPBACK || number > RSM_MAX_CTLRS)
		return NULL;
	if (number > READ_ONCE(node->nr_names))
		names_update(node);
	mutex_lock(&node->ctlr_lock);
	if (number <= node->nr_names)
		name = node->names[number - 1];
	mutex_unlock(&node->ctlr_lock);
	return name;
}

/*
 * Returns true if controller number @number, which is unchecked, is loopback or a present adapter.
 * Context: may sleep.
 */
bool rsm_ctlr_present(struct rsm_node *node, u32 number)
{
	const char *name;

	if (number == DAT_RSM_LOOPBACK)
		return true;
	name = ctlr_name(node, number);
	return name && kdat_adapter_present(node->net, name);
}

/*
 * Returns the next present controller after @number, except loopback, or 0 if there is none.
 * @number 0 begins the list.  *@active tells whether the controller's port is up.  Context: may
 * sleep.
 */
u32 rsm_ctlr_next(struct rsm_node *node, u32 number, bool *active)
{
	struct kdat_adapter a;

	if (!number)
		names_update(node);
	while (number++ < READ_ONCE(node->nr_names)) {
		if (kdat_adapter_find(node->net, ctlr_name(node, number), &a))
			continue;
		*active = a.active;
		return number;
	}
	return 0;
}

/* Fills in the result of DAT_IOC_RSM_CTLR for an adapter. */
int rsm_ctlr_describe(struct rsm_node *node, struct dat_rsm_ctlr *arg)
{
	u32 slots = READ_ONCE(rsm_max_segments);
	u64 budget = rsm_mem_budget();
	const char *name = ctlr_name(node, arg->ctlr);
	struct kdat_adapter a;

	if (!name || kdat_adapter_find(node->net, name, &a))
		return -ENODEV;
	snprintf(arg->name, sizeof(arg->name), "rdma%u", arg->ctlr - 1);
	strscpy(arg->device, a.name, sizeof(arg->device));
	/*
	 * A segment cannot be mapped through an adapter.  No adapter guarantees that a transfer of
	 * more than one byte is atomic.
	 */
	arg->direct_sizes = 0;
	arg->max_map_size = 0;
	arg->tot_map_size = 0;
	arg->atomic_sizes = 0x1;
	arg->page_sizes = PAGE_SIZE >> 10;
	arg->max_exports = min(a.max_mr, slots);
	arg->max_imports = min3(a.max_qp, slots, (u32)RSM_MAX_CONNS);
	arg->max_export_size = min(a.max_mr_size, budget);
	arg->tot_export_size = budget;
	return 0;
}

static DAT_RETURN ctlr_query(struct rsm_ctlr *ctlr)
{
	struct kdat_ia_traits traits;
	DAT_RETURN rc;

	rc = kdat_ia_traits(ctlr->ia, &traits);
	if (rc)
		return rc;
	ctlr->addr = traits.addr;
	ctlr->reads = min(traits.reads, CTLR_READS);
	ctlr->iwarp = traits.iwarp;
	ctlr->open_access = traits.open_access;
	/* With iWARP, the peer answers an RDMA read by an RDMA write. */
	ctlr->read_priv = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	if (ctlr->iwarp)
		ctlr->read_priv |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	return DAT_SUCCESS;
}

/*
 * Creates the service point with the kernel's credentials, because the port is privileged and the
 * process that opens the adapter may be unprivileged.
 */
static DAT_RETURN ctlr_listen(struct rsm_ctlr *ctlr)
{
	struct cred *kernel = prepare_kernel_cred(&init_task);
	const struct cred *old;
	DAT_RETURN rc;

	if (!kernel)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY;
	old = override_creds(kernel);
	rc = kdat_psp_create(ctlr->ia, READ_ONCE(rsm_port), ctlr->cr_evd, DAT_PSP_CONSUMER_FLAG,
			     &ctlr->psp);
	revert_creds(old);
	put_cred(kernel);
	return rc;
}

/* Creates the objects of an adapter.  Listens last, because a request uses all other objects. */
static DAT_RETURN ctlr_setup(struct rsm_ctlr *ctlr)
{
	DAT_UPCALL_OBJECT upcall = {
		.instance_data = ctlr, .upcall_func = rsm_conn_upcall,
	};
	DAT_UPCALL_OBJECT requests = {
		.instance_data = ctlr, .upcall_func = rsm_serve_upcall,
	};
	DAT_RETURN rc;

	rc = ctlr_query(ctlr);
	if (rc == DAT_SUCCESS)
		rc = kdat_evd_kcreate(ctlr->ia, CTLR_EVENTS, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				      DAT_EVD_CONNECTION_FLAG, &ctlr->evd);
	if (rc == DAT_SUCCESS)
		rc = kdat_evd_kcreate(ctlr->ia, CTLR_REQUESTS, DAT_UPCALL_SINGLE_INSTANCE,
				      &requests, DAT_EVD_CR_FLAG, &ctlr->cr_evd);
	if (rc == DAT_SUCCESS)
		rc = kdat_evd_set_gate(ctlr->cr_evd, &ctlr->gate);
	if (rc == DAT_SUCCESS)
		rc = ctlr_listen(ctlr);
	return rc;
}

static const u8 ctlr_next[RSM_CTLR_NR_STATES] = {
	[RSM_CTLR_OPENING]	= BIT(RSM_CTLR_OPEN) | BIT(RSM_CTLR_CLOSING),
	[RSM_CTLR_OPEN]		= BIT(RSM_CTLR_DEAD) | BIT(RSM_CTLR_CLOSING),
	[RSM_CTLR_DEAD]		= BIT(RSM_CTLR_CLOSING),
	[RSM_CTLR_CLOSING]	= BIT(RSM_CTLR_GONE),
};

/* Changes ctlr->state and wakes the callers that wait for a change. */
static void ctlr_set_state(struct rsm_ctlr *ctlr, enum rsm_ctlr_state state)
{
	struct rsm_node *node = ctlr->node;

	lockdep_assert_held(&node->ctlr_lock);
	if (!dat_state_may(ctlr_next, ctlr->state, state))
		return;
	ctlr->state = state;
	WRITE_ONCE(node->ctlr_changes, node->ctlr_changes + 1);
	wake_up_all(&node->ctlr_wq);
}

/* Opens an adapter that ctlr_claim() has added.  On failure, drops the caller's reference. */
static int ctlr_open(struct rsm_ctlr *ctlr, const char *name)
{
	struct rsm_node *node = ctlr->node;
	DAT_RETURN rc;

	strscpy(ctlr->name, name, sizeof(ctlr->name));
	rc = kdat_ia_open_net(node->net, name, THIS_MODULE, &ctlr->ia);
	if (rc == DAT_SUCCESS)
		rc = ctlr_setup(ctlr);
	if (rc != DAT_SUCCESS) {
		rsm_ctlr_put(ctlr);
		return rsm_dat_error(rc);
	}
	mutex_lock(&node->ctlr_lock);
	ctlr_set_state(ctlr, RSM_CTLR_OPEN);
	mutex_unlock(&node->ctlr_lock);
	return 0;
}

/*
 * Closes the IA and frees @ctlr.  A new open of the adapter waits for RSM_CTLR_GONE, because the
 * listener's port number is in use until then.
 */
static void ctlr_close(struct rsm_ctlr *ctlr)
{
	struct rsm_node *node = ctlr->node;

	if (ctlr->ia)
		kdat_ia_close(ctlr->ia, DAT_CLOSE_ABRUPT_FLAG);
	xa_destroy(&ctlr->conns);
	mutex_lock(&node->ctlr_lock);
	list_del(&ctlr->entry);
	ctlr_set_state(ctlr, RSM_CTLR_GONE);
	mutex_unlock(&node->ctlr_lock);
	kfree(ctlr);
}

/*
 * Returns the open adapter with controller number @number, with a reference, or NULL.  Sets *@busy
 * if another thread opens or closes the adapter.
 */
static struct rsm_ctlr *ctlr_find(struct rsm_node *node, u32 number, bool *busy)
{
	struct rsm_ctlr *ctlr;

	lockdep_assert_held(&node->ctlr_lock);
	*busy = false;
	list_for_each_entry(ctlr, &node->ctlrs, entry) {
		if (ctlr->number != number)
			continue;
		if (ctlr->state == RSM_CTLR_OPEN) {
			ctlr->refs++;
			return ctlr;
		}
		*busy |= ctlr->state != RSM_CTLR_DEAD;
	}
	return NULL;
}

static struct rsm_ctlr *ctlr_alloc(struct rsm_node *node, u32 number)
{
	struct rsm_ctlr *ctlr = kzalloc(sizeof(*ctlr), GFP_KERNEL_ACCOUNT);

	if (!ctlr)
		return NULL;
	ctlr->node = node;
	ctlr->refs = 1;
	ctlr->number = number;
	ctlr->state = RSM_CTLR_OPENING;
	xa_init_flags(&ctlr->conns, XA_FLAGS_ALLOC1);
	rsm_serve_init_lanes(ctlr);
	return ctlr;
}

/*
 * Finds the open adapter with controller number @number, and gets a reference.  If the adapter is
 * not open, adds @spare to node->ctlrs and sets *@out to @spare, which the caller must then open.
 * Context: sleeps while another thread opens or closes the adapter.  Return: 0, or -EINTR if the
 * process is killed during that sleep.
 */
static int ctlr_claim(struct rsm_node *node, u32 number, struct rsm_ctlr *spare,
		      struct rsm_ctlr **out)
{
	bool busy = false;
	u32 seen = 0;

	do {
		if (busy && wait_event_killable(node->ctlr_wq,
						READ_ONCE(node->ctlr_changes) != seen))
			return -EINTR;
		mutex_lock(&node->ctlr_lock);
		seen = node->ctlr_changes;
		*out = ctlr_find(node, number, &busy);
		if (!*out && !busy) {
			*out = spare;
			list_add_tail(&spare->entry, &node->ctlrs);
		}
		mutex_unlock(&node->ctlr_lock);
	} while (!*out);
	return 0;
}

/*
 * Marks an adapter dead whose device is gone or whose address has changed, so that no new user gets
 * the adapter.  Drops the caller's reference.
 */
static void ctlr_retire(struct rsm_ctlr *ctlr)
{
	struct rsm_node *node = ctlr->node;

	mutex_lock(&node->ctlr_lock);
	if (ctlr->state == RSM_CTLR_OPEN)
		ctlr_set_state(ctlr, RSM_CTLR_DEAD);
	mutex_unlock(&node->ctlr_lock);
	rsm_ctlr_put(ctlr);
}

int rsm_ctlr_get(struct rsm_node *node, u32 number, struct rsm_ctlr **out)
{
	const char *name = ctlr_name(node, number);
	struct rsm_ctlr *ctlr, *spare;
	int ret;

	if (!name)
		return -ENODEV;
	spare = ctlr_alloc(node, number);
	if (!spare)
		return -ENOMEM;
	while (!(ret = ctlr_claim(node, number, spare, &ctlr)) && ctlr != spare) {
		/* kdat_ia_good() may wait for a device removal, so ctlr_lock is not held here. */
		if (kdat_ia_good(ctlr->ia))
			break;
		ctlr_retire(ctlr);
	}
	if (ret || ctlr != spare)
		kfree(spare);
	else
		ret = ctlr_open(ctlr, name);
	if (!ret)
		*out = ctlr;
	return ret;
}

void rsm_ctlr_put(struct rsm_ctlr *ctlr)
{
	struct rsm_node *node = ctlr->node;
	struct net *net = get_net(node->net);
	bool last;

	mutex_lock(&node->ctlr_lock);
	last = !--ctlr->refs;
	if (last)
		ctlr_set_state(ctlr, RSM_CTLR_CLOSING);
	mutex_unlock(&node->ctlr_lock);
	if (last)
		ctlr_close(ctlr);
	/* Put @net last, because @node lives only as long as @net. */
	put_net(net);
}
