// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The exporter's side of RSM connections.  The exporting process is not involved.  An upcall of the
 * adapter answers connection requests, and a withdrawal of the segment ends all connections.
 *
 * A connection is in export->peers until serve_drop() removes it, because the connection is lost or
 * could not be accepted, the segment is withdrawn, another unproven connection needs the place, or
 * the peer does not acknowledge a new key.  serve_drop() queues the connection's end_work.
 * rsm_serve_wait() waits until the end_work of each connection has run.  After that, no peer can
 * access the memory.
 */
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "lib/log.h"
#include "rsm/rdma.h"

/* Time limit for a peer to acknowledge a segment's new key. */
#define REBIND_TIMEOUT	(10 * HZ)

static unsigned int rsm_max_importers = 256;
module_param_named(max_importers, rsm_max_importers, uint, 0644);
MODULE_PARM_DESC(max_importers, "Imports of a segment across an adapter (256)");

/* Largest number of connections that end at the same time, as CLOSES in core/core.c. */
#define SERVE_ENDS	64

/* Time limit in jiffies for a peer to acknowledge events at the end of a connection. */
#define DRAIN_TIME	HZ
/* Interval at which a teardown checks for the acknowledgment. */
#define DRAIN_DELAY	(HZ / 50)

/*
 * Workqueue for the teardown of connections.  A teardown waits for work items of dat_wq,
 * dat_close_wq and rsm_wq, so a teardown must not run on those workqueues.  A teardown never waits
 * for another teardown of this workqueue.
 *
 * A teardown that waits for acknowledgments of the peer does not count against SERVE_ENDS, because
 * the work item is queued again with a delay.  After that wait, the teardown counts until dat.ko
 * has closed the connection.  dat.ko may wait for a CM event and for the device, for seconds.
 */
static struct workqueue_struct *serve_wq;

int rsm_serve_init(void)
{
	serve_wq = alloc_workqueue("dat-rsm", WQ_UNBOUND | WQ_MEM_RECLAIM, SERVE_ENDS);
	return serve_wq ? 0 : -ENOMEM;
}

void rsm_serve_exit(void)
{
	destroy_workqueue(serve_wq);
}

/* Work function of conn->end_work: ends the connection, then puts it and its export. */
static void serve_end_work(struct work_struct *work)
{
	struct rsm_conn *conn = container_of(to_delayed_work(work), struct rsm_conn, end_work);
	struct rsm_export *exp = conn->owner;

	if (!rsm_msg_drained(conn) && time_before(jiffies, conn->drain_deadline)) {
		queue_delayed_work(serve_wq, &conn->end_work, DRAIN_DELAY);
		return;
	}
	rsm_conn_end(conn);
	if (conn->granted) {
		rsm_users_count(&exp->obj, true, -1);
		atomic_dec(&exp->importers);
	}
	if (conn->placed)
		atomic_dec(&conn->lane->places);
	rsm_conn_put(conn);
	if (atomic_dec_and_test(&exp->conns))
		wake_up_all(&exp->obj.wq);
	rsm_obj_put(&exp->obj);
}

/* Removes a connection from lane->unproven if it is in that list.  Context: node->lock held. */
static void serve_leave_unproven(struct rsm_conn *conn)
{
	lockdep_assert_held(&conn->ctlr->node->lock);
	if (list_empty(&conn->unproven))
		return;
	list_del_init(&conn->unproven);
	conn->lane->nr_unproven--;
}

/* Removes a connection from export->peers and queues the teardown.  Context: node->lock held. */
static void serve_drop(struct rsm_conn *conn)
{
	lockdep_assert_held(&conn->ctlr->node->lock);
	serve_leave_unproven(conn);
	list_del_init(&conn->entry);
	conn->drain_deadline = jiffies + DRAIN_TIME;
	queue_delayed_work(serve_wq, &conn->end_work, 0);
}

static void serve_events(struct rsm_conn *conn, bool single, u32 events)
{
	struct rsm_export *exp = conn->owner;

	lockdep_assert_held(&conn->end_lock);
	if (single)
		rsm_event_add(&exp->obj, false);
	rsm_event_add_many(&exp->obj, events);
}

static void serve_lost(struct rsm_conn *conn)
{
	struct rsm_node *node = conn->ctlr->node;

	mutex_lock(&node->lock);
	if (!list_empty(&conn->entry))
		serve_drop(conn);
	mutex_unlock(&node->lock);
}

static void serve_rebound(struct rsm_conn *conn)
{
	struct rsm_export *exp = conn->owner;

	if (atomic_dec_and_test(&exp->rebinds_pending))
		wake_up_all(&exp->obj.wq);
}

static bool proof_in_group(const struct rsm_proof *p, kgid_t gid)
{
	unsigned int i;

	if (gid_eq(make_kgid(&init_user_ns, be32_to_cpu(p->gid)), gid))
		return true;
	for (i = 0; i < min_t(u32, be16_to_cpu(p->ngroups), RSM_PROOF_GROUPS); i++)
		if (gid_eq(make_kgid(&init_user_ns, be32_to_cpu(p->groups[i])), gid))
			return true;
	return false;
}

static int serve_allowed(const struct rsm_conn *conn, const struct rsm_export *exp)
{
	const struct rsm_greeting *g = &conn->transcript.greeting;
	const struct rsm_proof *p = &conn->transcript.proof;
	bool owner = uid_eq(make_kuid(&init_user_ns, be32_to_cpu(p->uid)), exp->uid);
	int ret;

	/* An unknown node can claim any id outside node->table, so no access list admits it. */
	if (!conn->known && exp->acl_count)
		return -ENONET;
	ret = rsm_export_allows(exp, be32_to_cpu(g->node), be32_to_cpu(g->perm), owner,
				proof_in_group(p, exp->gid));
	if (ret == -EACCES && p->flags & RSM_PROOF_CAPABLE)
		ret = 0;
	return ret;
}

/*
 * Returns true if the limits of the segment and of the segment's users allow another importer.
 * Closing connections also count, because a closing connection still has a queue pair.
 */
static bool serve_has_room(const struct rsm_export *exp)
{
	return atomic_read(&exp->importers) < READ_ONCE(rsm_max_importers) &&
	       rsm_users_have_room(&exp->obj, true, RSM_MAX_SERVED);
}

/*
 * Checks the importer's permissions and fills in the GRANT.  After success, the connection does not
 * count in the lane any more, and gets rebinds and events of the segment.  Returns 0 or an errno of
 * rsm/error.c.
 */
static int serve_grant(struct rsm_conn *conn)
{
	struct rsm_grant *grant = &conn->transcript.grant;
	struct rsm_node *node = conn->ctlr->node;
	struct rsm_export *exp = conn->owner;
	struct rsm_mem *mem;
	int ret;

	mutex_lock(&node->lock);
	ret = list_empty(&conn->entry) ? -ENOENT : serve_allowed(conn, exp);
	if (!ret && !serve_has_room(exp))
		ret = -ENOSPC;
	if (!ret) {
		mem = rcu_dereference_protected(exp->mem, lockdep_is_held(&node->lock));
		grant->rkey = cpu_to_be32(mem->rkey);
		grant->addr = cpu_to_be64(exp->addr);
		grant->length = cpu_to_be64(exp->length);
		if (conn->transcript.proof.flags & RSM_PROOF_WANTS_OWNER) {
			grant->flags |= RSM_GRANT_OWNER;
			conn->transcript.owner =
				cpu_to_be32(from_kuid_munged(&init_user_ns, exp->uid));
		}
		atomic_inc(&exp->importers);
		rsm_users_count(&exp->obj, true, 1);
		conn->granted = true;
		atomic_dec(&conn->lane->places);
		conn->placed = false;
		serve_leave_unproven(conn);
	}
	mutex_unlock(&node->lock);
	return ret;
}

/*
 * Handles an importer whose proof is valid or not required.  Every importer that gets access may
 * read through its queue pair, because even an importer without DAT_RSM_READ posts flushes, which
 * are RDMA reads.  So the importer's kernel enforces the read permission.
 */
static bool serve_proven(struct rsm_conn *conn)
{
	bool write = be32_to_cpu(conn->transcript.greeting.perm) & DAT_RSM_WRITE;
	int ret;

	lockdep_assert_held(&conn->end_lock);
	ret = serve_grant(conn);
	conn->transcript.grant.err = rsm_error_to_wire(ret);
	return ret || kdat_ep_allow_peer(conn->ep, write) == DAT_SUCCESS;
}

static const struct rsm_conn_ops serve_ops = {
	.proven	= serve_proven,
	.events	= serve_events,
	.lost	= serve_lost,
	.rebound = serve_rebound,
};

/* Returns true if @lane is the lane of one node, false for the lane RSM_LANE_OTHERS. */
static bool lane_is_nodes(const struct rsm_ctlr *ctlr, const struct rsm_lane *lane)
{
	return lane != &ctlr->lanes[RSM_LANE_OTHERS];
}

/*
 * Adds a connection to lane->unproven, unless the lane belongs to a node.  Evicts the oldest
 * connection of the list if the list is full.  node->lock is held.
 */
static void serve_join_unproven(struct rsm_conn *conn)
{
	struct rsm_lane *lane = conn->lane;

	lockdep_assert_held(&conn->ctlr->node->lock);
	if (lane_is_nodes(conn->ctlr, lane))
		return;
	if (lane->nr_unproven >= RSM_OTHER_UNPROVEN)
		serve_drop(list_first_entry(&lane->unproven, struct rsm_conn, unproven));
	list_add_tail(&conn->unproven, &lane->unproven);
	lane->nr_unproven++;
}

/* Finds the segment that a peer asks for.  The segment stays published while node->lock is held. */
static int serve_find(struct rsm_ctlr *ctlr, const struct rsm_greeting *g, struct rsm_export **out)
{
	struct rsm_export *exp = xa_load(&ctlr->node->segs, be32_to_cpu(g->segid));

	lockdep_assert_held(&ctlr->node->lock);
	if (!exp || exp->ctlr != ctlr)
		return -ENOENT;
	*out = exp;
	return 0;
}

/* Checks that the requested segment exists, before the caller allocates a connection. */
static int serve_check(struct rsm_ctlr *ctlr, const struct rsm_greeting *g)
{
	struct rsm_export *exp;
	int ret;

	mutex_lock(&ctlr->node->lock);
	ret = serve_find(ctlr, g, &exp);
	mutex_unlock(&ctlr->node->lock);
	return ret;
}

/*
 * Adds a connection to exp->peers of the segment.  After that, a withdrawal of the segment tears
 * the connection down, and the connection counts in the lane instead of the request.
 */
static int serve_attach(struct rsm_conn *conn)
{
	struct rsm_ctlr *ctlr = conn->ctlr;
	struct rsm_node *node = ctlr->node;
	struct rsm_export *exp;
	int ret;

	mutex_lock(&node->lock);
	ret = serve_find(ctlr, &conn->transcript.greeting, &exp);
	if (!ret) {
		conn->owner = exp;
		kref_get(&exp->obj.ref);
		atomic_inc(&exp->conns);
		list_add_tail(&conn->entry, &exp->peers);
		serve_join_unproven(conn);
		conn->placed = true;
	}
	mutex_unlock(&node->lock);
	return ret;
}

/* Starts the timer that ends the connection if the handshake does not succeed in time. */
static void serve_start_deadline(struct rsm_conn *conn)
{
	spin_lock_bh(&conn->lock);
	if (conn->state < RSM_CONN_LOST)
		queue_delayed_work(rsm_wq, &conn->beat, RSM_PROOF_TIMEOUT);
	spin_unlock_bh(&conn->lock);
}

/* Accepts a connection request.  end_lock is held and makes a concurrent rsm_conn_end() wait. */
static int serve_accept(struct rsm_conn *conn, DAT_CR_HANDLE cr)
{
	struct rsm_answer *answer = &conn->transcript.answer;
	struct rsm_export *exp;
	int ret;

	lockdep_assert_held(&conn->end_lock);
	ret = serve_attach(conn);
	if (ret)
		return ret;
	exp = conn->owner;
	ret = rsm_conn_make_ep(conn, exp->pz, DAT_EP_PEER_WAITS | DAT_EP_STRANGER);
	if (ret)
		return ret;
	serve_start_deadline(conn);
	if (kdat_cr_accept(cr, conn->ep, sizeof(*answer), answer))
		return -ENOSPC;
	return 0;
}

/* A connection request. */
struct rsm_asked {
	struct rsm_peer		peer;	/* the importer */
	enum rsm_why		why;	/* reason of a refusal; valid after a failure */
	struct rsm_greeting	g;	/* checked greeting */
	bool			known;	/* flag: the importer's node is local or in node->table */
	struct rsm_lane		*lane;	/* lane that counts the request, or NULL */
};

static struct rsm_conn *serve_conn_make(struct rsm_ctlr *ctlr, const struct rsm_asked *asked,
					const struct rsm_answer *answer, int *err)
{
	struct rsm_conn *conn;

	*err = rsm_conn_make(ctlr, &serve_ops, NULL, 0, &conn);
	if (*err) {
		rsm_handshake_end(&asked->peer, RSM_WHY_REFUSED, *err);
		return NULL;
	}
	INIT_DELAYED_WORK(&conn->end_work, serve_end_work);
	conn->peer = asked->peer;
	conn->known = asked->known;
	conn->lane = asked->lane;
	conn->trusts = asked->g.flags & cpu_to_be16(RSM_GREETING_TRUSTS);
	conn->transcript.greeting = asked->g;
	conn->transcript.answer = *answer;
	get_random_bytes(conn->transcript.answer.nonce, sizeof(conn->transcript.answer.nonce));
	return conn;
}

/*
 * Accepts a request.  Reports a failure to the trace.  Sets asked->lane to NULL if a new connection
 * counts in the lane instead of the request, even if the accept fails.  Otherwise the caller must
 * decrement asked->lane->places.
 */
static int serve_connect(struct rsm_ctlr *ctlr, DAT_CR_HANDLE cr, struct rsm_asked *asked,
			 const struct rsm_answer *answer)
{
	struct rsm_conn *conn;
	int ret;

	conn = serve_conn_make(ctlr, asked, answer, &ret);
	if (!conn)
		return ret;
	/*
	 * Take a second reference.  As soon as serve_accept() has attached the connection and
	 * end_lock is free, serve_end_work() may tear the connection down and put the first
	 * reference, for example after an unpublish.
	 */
	kref_get(&conn->ref);
	mutex_lock(&conn->end_lock);
	ret = serve_accept(conn, cr);
	if (ret)
		rsm_conn_report(conn, RSM_WHY_REFUSED, ret);
	mutex_unlock(&conn->end_lock);
	if (conn->owner)
		asked->lane = NULL;
	if (ret && conn->owner) {
		serve_lost(conn);
	} else if (ret) {
		rsm_conn_end(conn);
		rsm_conn_put(conn);
	}
	rsm_conn_put(conn);
	return ret;
}

/*
 * Returns true if @port may be the source port of an RSM kernel.  On RoCE, no unprivileged process
 * can send from such a port.  On InfiniBand, a process that uses AF_IB can, because the process
 * writes the port into its request.  With iWARP, the function accepts every port, because iWARP
 * kernels do not use privileged ports; see verbs/cm.c.
 */
static bool port_is_kernels(const struct rsm_ctlr *ctlr, DAT_PORT_QUAL port)
{
	return ctlr->iwarp || (port && port < PROT_SOCK);
}

/*
 * Copies and checks the greeting in a connection request.  Returns false if the sender is no RSM
 * kernel with this version of the protocol.
 */
static bool greeting_read(const struct rsm_ctlr *ctlr, struct rsm_greeting *g,
			  const DAT_CR_PARAM *param)
{
	if (!port_is_kernels(ctlr, param->remote_port_qual))
		return false;
	if (!param->private_data || param->private_data_size < (DAT_COUNT)sizeof(*g))
		return false;
	memcpy(g, param->private_data, sizeof(*g));
	return g->magic == cpu_to_be32(RSM_MAGIC) && g->version == RSM_VERSION &&
	       !(be32_to_cpu(g->perm) & ~(DAT_RSM_READ | DAT_RSM_WRITE)) &&
	       !(g->flags & ~cpu_to_be16(RSM_GREETING_TRUSTS));
}

/*
 * Checks whether segments can be exported through @ctlr.  If the adapter cannot deny a peer access
 * before its proof, node->trusts must be set.  Each request is checked, too, because the
 * administrator may change node->trusts at any time.  Returns 0 or -EKEYREJECTED.
 */
static int serve_access_check(const struct rsm_ctlr *ctlr)
{
	return ctlr->open_access && !READ_ONCE(ctlr->node->trusts) ? -EKEYREJECTED : 0;
}

/* Reads the greeting of a request, and checks the request.  Fills in @asked except asked->lane. */
static int serve_read(struct rsm_ctlr *ctlr, const DAT_CR_PARAM *param, struct rsm_asked *asked)
{
	struct rsm_peer *peer = &asked->peer;
	int ret;

	memcpy(&peer->addr, param->remote_ia_address_ptr, sizeof(peer->addr));
	asked->why = RSM_WHY_GREETING;
	if (!greeting_read(ctlr, &asked->g, param))
		return -EHOSTUNREACH;
	peer->node = be32_to_cpu(asked->g.node);
	peer->segid = be32_to_cpu(asked->g.segid);
	asked->why = RSM_WHY_NODE;
	if (be32_to_cpu(asked->g.to) != READ_ONCE(ctlr->node->id))
		return -EHOSTUNREACH;
	asked->why = RSM_WHY_ADDRESS;
	if (!rsm_node_is_at(ctlr, peer->node, (struct sockaddr *)&peer->addr, &asked->known))
		return -ENONET;
	ret = rsm_auth_agree(ctlr->node, &asked->g, &asked->why);
	if (ret)
		return ret;
	asked->why = RSM_WHY_OPEN_ACCESS;
	ret = serve_access_check(ctlr);
	if (!ret)
		asked->why = RSM_WHY_REFUSED;
	return ret;
}

/*
 * Answers a connection request, which serve_enter() has counted in a lane.  serve_grant() or
 * serve_end_work() decrements lane->places if a connection counts instead of the request.
 * Otherwise this function decrements lane->places.
 */
static void serve_request(struct rsm_ctlr *ctlr, DAT_CR_HANDLE cr)
{
	struct rsm_answer answer = {
		.magic = cpu_to_be32(RSM_MAGIC), .version = RSM_VERSION, .endian = RSM_ENDIAN,
	};
	struct rsm_asked asked = {};
	DAT_CR_PARAM param = {};
	int place = kdat_cr_place(cr), ret;

	/* A request is gone only if the IA is being closed, which also ends the lanes. */
	if (place < 0)
		return;
	asked.lane = &ctlr->lanes[place];
	if (kdat_cr_query(cr, DAT_CR_FIELD_ALL, &param))
		goto out;
	ret = serve_read(ctlr, &param, &asked);
	if (!ret)
		ret = serve_check(ctlr, &asked.g);
	if (ret)
		rsm_handshake_end(&asked.peer, asked.why, ret);
	else
		ret = serve_connect(ctlr, cr, &asked, &answer);
	if (ret) {
		answer.err = rsm_error_to_wire(ret);
		kdat_cr_refuse(cr, &answer, sizeof(answer));
	}
out:
	if (asked.lane)
		atomic_dec(&asked.lane->places);
}

/*
 * Returns the index of the lane for a request.  The greeting is unchecked, because
 * rsm_serve_upcall() checks the greeting and answers the request later.  A request that an
 * unprivileged process of a node may have sent does not count in the lane of that node; see
 * port_is_kernels() for exceptions.
 */
static unsigned int serve_lane(struct rsm_ctlr *ctlr, const struct sockaddr *remote, const void *pd,
			       u32 pd_len)
{
	/* sin_port and sin6_port have the same offset. */
	u16 port = be16_to_cpu(((const struct sockaddr_in *)remote)->sin_port);
	struct rsm_greeting g;
	bool known;

	if (!port_is_kernels(ctlr, port) || !pd || pd_len < sizeof(g))
		return RSM_LANE_OTHERS;
	memcpy(&g, pd, sizeof(g));
	if (!rsm_node_is_at(ctlr, be32_to_cpu(g.node), remote, &known) || !known)
		return RSM_LANE_OTHERS;
	return be32_to_cpu(g.node);
}

/* Counts a request in a lane and returns the index of the lane, or -EBUSY.  Must not sleep. */
static int serve_enter(void *arg, const struct sockaddr *remote, const void *pd, u32 pd_len)
{
	struct rsm_ctlr *ctlr = arg;
	unsigned int i = serve_lane(ctlr, remote, pd, pd_len);
	struct rsm_lane *lane = &ctlr->lanes[i];
	int max = lane_is_nodes(ctlr, lane) ? RSM_NODE_PLACES : RSM_OTHER_PLACES;

	if (atomic_inc_return(&lane->places) <= max)
		return i;
	atomic_dec(&lane->places);
	return -EBUSY;
}

/* Uncounts a request that rsm_serve_upcall() will not get.  Must not sleep. */
static void serve_leave(void *arg, int place)
{
	struct rsm_ctlr *ctlr = arg;

	atomic_dec(&ctlr->lanes[place].places);
}

void rsm_serve_init_lanes(struct rsm_ctlr *ctlr)
{
	unsigned int i;

	for (i = 0; i < RSM_LANES; i++)
		INIT_LIST_HEAD(&ctlr->lanes[i].unproven);
	ctlr->gate = (struct dat_gate) {
		.enter = serve_enter, .leave = serve_leave, .arg = ctlr,
	};
}

void rsm_serve_upcall(void *arg, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	serve_request(arg, event->event_data.cr_arrival_event_data.cr_handle);
}

/*
 * Opens the adapter and creates the protection zone of a segment that is not published yet.  After
 * success, the caller must call rsm_serve_close() at the end of the segment.  Context: may sleep.
 */
int rsm_serve_open(struct rsm_export *exp, struct rsm_node *node, u32 ctlr)
{
	struct rsm_peer any = {};
	DAT_RETURN rc;
	int ret;

	ret = rsm_auth_ready(node);
	if (ret) {
		/* Without a key, every importer's handshake would fail. */
		rsm_handshake_end(&any, RSM_WHY_NOT_READY, ret);
		return ret;
	}
	ret = rsm_ctlr_get(node, ctlr, &exp->ctlr);
	if (ret)
		return ret;
	ret = serve_access_check(exp->ctlr);
	if (ret) {
		dat_log("%s cannot deny a peer access before its proof: no exports, see rsm(7)",
			exp->ctlr->name);
		goto err_put;
	}
	rc = kdat_pz_create(exp->ctlr->ia, &exp->pz);
	if (!rc)
		return 0;
	ret = rsm_dat_error(rc);
err_put:
	rsm_ctlr_put(exp->ctlr);
	return ret;
}

/*
 * Undoes rsm_serve_open().  No connection and no registered memory may be left in the protection
 * zone.  Context: may sleep.
 */
void rsm_serve_close(struct rsm_export *exp)
{
	kdat_pz_free(exp->pz);
	rsm_ctlr_put(exp->ctlr);
}

/* Starts the teardown of all connections of a withdrawn segment.  Context: node->lock held. */
void rsm_serve_cut(struct rsm_export *exp)
{
	lockdep_assert_held(&exp->obj.ctx->node->lock);
	while (!list_empty(&exp->peers))
		serve_drop(list_first_entry(&exp->peers, struct rsm_conn, entry));
}

/* Waits until all connections to the segment have been torn down.  Context: may sleep. */
void rsm_serve_wait(struct rsm_export *exp)
{
	wait_event(exp->obj.wq, !atomic_read(&exp->conns));
}

/*
 * Sends the key of a segment's new memory to all importers.  An importer may use the old memory
 * until rsm_serve_rebind_wait() returns.  Context: node->lock held.
 */
void rsm_serve_rebind(struct rsm_export *exp, struct rsm_mem *mem)
{
	struct rsm_conn *conn;

	lockdep_assert_held(&exp->obj.ctx->node->lock);
	list_for_each_entry(conn, &exp->peers, entry) {
		if (!conn->granted)
			continue;
		atomic_inc(&exp->rebinds_pending);
		if (!rsm_msg_rebind(conn, mem->rkey, exp->addr))
			serve_rebound(conn);
	}
}

static bool serve_rebinds_done(const struct rsm_export *exp)
{
	return !atomic_read(&exp->rebinds_pending);
}

/*
 * Waits until no peer uses the segment's old memory.  Ends the connections of peers that have not
 * acknowledged the new key when REBIND_TIMEOUT has passed or the process is being killed.  Context:
 * may sleep.
 */
void rsm_serve_rebind_wait(struct rsm_export *exp)
{
	struct rsm_node *node = exp->ctlr->node;
	struct rsm_conn *conn, *next;

	if (wait_event_killable_timeout(exp->obj.wq, serve_rebinds_done(exp), REBIND_TIMEOUT) > 0)
		return;
	mutex_lock(&node->lock);
	list_for_each_entry_safe(conn, next, &exp->peers, entry)
		if (rsm_msg_rebind_pending(conn))
			serve_drop(conn);
	mutex_unlock(&node->lock);
	wait_event(exp->obj.wq, serve_rebinds_done(exp));
}

/* Sends an event to each remote importer of a segment.  Context: node->lock held. */
void rsm_serve_post(struct rsm_export *exp, bool single)
{
	struct rsm_conn *conn;

	lockdep_assert_held(&exp->obj.ctx->node->lock);
	list_for_each_entry(conn, &exp->peers, entry)
		if (conn->granted)
			rsm_msg_tell(conn, single);
}
