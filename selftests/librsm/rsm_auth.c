// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The cluster key, with which RSM kernels authenticate each other.  The test plays a peer kernel
 * (see rsm_peer.h) that has the cluster key or a different key.  Needs root, and the virtual
 * machine's adapter rxe0 on interface v0.
 */
#include "rsm_test.h"

#include <endian.h>
#include <grp.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "dat_test.h"
#include "rsm_node.h"
#include "rsm_peer.h"
#include "adapter.h"
#include "klog.h"
#include "tracefs.h"

#define OWN		"10.9.0.1"	/* address of rxe0 */
#define FAKE		"10.9.0.63"	/* local address of the test's exporter */
#define NODE_FAKE	63
#define UNPROVEN	64		/* value of RSM_OTHER_UNPROVEN in the driver */
#define SILENT		100		/* peers that send no proof; more than UNPROVEN */
#define NODE_PLACES	14		/* value of RSM_NODE_PLACES in the driver */
#define LOG_MS		70000		/* longer than the interval of the log's limit */

static int nodes_call(struct dat_rsm_nodes *arg)
{
	int fd = open("/dev/rsm", O_RDWR | O_CLOEXEC);
	int ret;

	arg->size = sizeof(*arg);
	ret = CALL(fd, NODES, arg);
	close(fd);
	return ret;
}

static int trust(int on)
{
	struct dat_rsm_nodes arg = {
		.flags = DAT_RSM_NODES_TRUST, .state = on ? DAT_RSM_NODE_TRUSTS : 0,
	};

	return nodes_call(&arg);
}

static int key_use(int32_t serial)
{
	struct dat_rsm_nodes arg = { .flags = DAT_RSM_NODES_KEY, .key = serial };

	return nodes_call(&arg);
}

static int32_t key_add(const char *type, const char *name, const void *key, size_t len)
{
	return (int32_t)syscall(SYS_add_key, type, name, key, len, KEY_SPEC_PROCESS_KEYRING);
}

static int state(void)
{
	struct dat_rsm_nodes arg = {};

	return nodes_call(&arg) ? -1 : (int)arg.state;
}

FIXTURE(auth) {
	struct r_pair		p;
	struct peer		peer;
	struct peer_greeting	g;
};

FIXTURE_SETUP(auth)
{
	if (getuid() || !rxe_exists())
		SKIP(return, "needs root, and rxe0 at " OWN);
	ASSERT_EQ(0, peer_key_set());
	ASSERT_EQ(RSM_SUCCESS, r_open(&self->p));
	ASSERT_EQ(RSM_SUCCESS, r_export(&self->p));
	ASSERT_EQ(0, peer_open(&self->peer));
	peer_greeting(&self->g, self->p.id);
	self->g.node = htobe32(self->p.node);
	self->g.to = self->g.node;
}

FIXTURE_TEARDOWN(auth)
{
	trace_end();
	peer_close(&self->peer);
	r_close(&self->p);
	trust(0);
	peer_key_set();
	r_nodes(NULL, 0, -1);
}

static int greet(struct peer *peer, const struct peer_greeting *g)
{
	return peer_connect(peer, OWN, g, sizeof(*g)) ? -1 : peer_event(peer, R_WAIT_MS);
}

/* Send the greeting @g.  If the exporter accepts the connection, prepare the proof and return 1. */
static int accepted(struct peer *peer, const struct peer_greeting *g)
{
	if (greet(peer, g) != RDMA_CM_EVENT_ESTABLISHED)
		return 0;
	peer_proof(peer);
	return 1;
}

/* Returns 1 if the next message is a refusal: a grant with an error, and with no memory or MAC. */
static int refused(struct peer *peer)
{
	static const uint8_t nothing[PEER_MAC];
	char buf[PEER_MSG];
	struct peer_grant *g = (void *)buf;

	return peer_receive(peer, buf, R_WAIT_MS) == sizeof(*g) && g->type == PEER_GRANT &&
	       be32toh(g->err) == RSMERR_BAD_CONF && !g->rkey && !g->addr && !g->length &&
	       !memcmp(g->mac, nothing, sizeof(nothing));
}

/* --- what an administrator sees --------------------------------------------------- */

/* Send a proof made with another key.  Returns 1 if the exporter refuses it. */
static int refused_for_its_key(FIXTURE_DATA(auth) *self)
{
	int was_refused;

	peer_close(&self->peer);
	if (peer_open(&self->peer))
		return 0;
	self->peer.key[31] ^= 1;
	was_refused = accepted(&self->peer, &self->g) && !peer_prove(&self->peer) &&
		      refused(&self->peer);
	return was_refused;
}

/*
 * This is the first test of the program, since the log has few lines a minute: after other tests it
 * would have to wait.
 */
TEST_F_TIMEOUT(auth, a_wrong_key_is_in_the_log_with_the_peers_address, 180)
{
	int klog = klog_open(), lines = 0;
	uint64_t end = now_ms() + LOG_MS;

	ASSERT_LE(0, klog);
	do {
		ASSERT_TRUE(refused_for_its_key(self));
		lines = klog_count(klog, "dat_rsm: no handshake with importer " OWN
				   ": the cluster keys differ");
	} while (!lines && now_ms() < end && !usleep(500000));
	EXPECT_EQ(1, lines);
	close(klog);
}

static char events[1 << 18];

/* Returns 1 if an event has the text. */
static int decoded(const char *format, ...)
{
	char text[128];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return strstr(events, text) || !fprintf(stderr, "# not in the trace: %s\n", text);
}

static int record_handshakes(void)
{
	return trace_start() || trace_on("dat_rsm/rsm_handshake", "0");
}

/* Returns the number of recorded handshakes that ended with @text. */
static int handshakes(const char *text)
{
	return trace_read(events, sizeof(events), text);
}

static int record(void)
{
	return trace_start() || trace_put("events/dat_rsm/enable", "1") ||
	       trace_on("dat/dat_conn_state", "0");
}

/* Make, import, use, rebind and revoke a segment, and fail to import it again.  Returns 0 or -1. */
static int all_steps(struct r_pair *p)
{
	rsm_memseg_export_handle_t exp;

	if (rsm_memseg_export_create(p->ctlr, &exp, r_mem(R_PAGE), R_PAGE, 0) ||
	    r_import(p, RSM_PERM_RDWR) || rsm_memseg_import_put(p->imp, 0, "x", 1) ||
	    rsm_memseg_export_rebind(p->exp, r_mem(R_SIZE), 0, R_SIZE) ||
	    rsm_memseg_export_unpublish(p->exp) || rsm_memseg_import_disconnect(p->imp))
		return -1;
	p->imp = NULL;
	return r_import(p, RSM_PERM_RDWR) && !rsm_memseg_export_destroy(exp) ? 0 : -1;
}

/* One test for all events, dat.ko's too, since trace-cmd takes seconds to copy their formats. */
TEST_F_TIMEOUT(auth, trace_cmd_decodes_the_steps_of_handshakes_and_segments, 240)
{
	uint32_t node = self->p.node, id = self->p.id;

	if (!trace_can_decode()) {
		/* scripts/deps installs it for the tests in the virtual machine. */
		ASSERT_EQ(NULL, getenv("DAT_VM"));
		SKIP(return, "trace-cmd is missing: apt-get install trace-cmd");
	}
	ASSERT_EQ(0, record());
	EXPECT_TRUE(refused_for_its_key(self));
	EXPECT_EQ(0, all_steps(&self->p));
	trace_decode(events, sizeof(events), "");
	EXPECT_TRUE(decoded("importer=" OWN " node=%u segid=%#x err=BAD_CONF: the cluster keys "
			    "differ", node, id));
	EXPECT_TRUE(decoded("CREATE segid=0 length=%zu err=OK", R_PAGE));
	EXPECT_TRUE(decoded("importer CONNECTING -> LINKED"));
	EXPECT_TRUE(decoded("importer LINKED -> UP"));
	EXPECT_TRUE(decoded("exporter LINKED -> UP"));
	EXPECT_TRUE(decoded("exporter=" OWN " node=%u segid=%#x err=OK: done", node, id));
	EXPECT_TRUE(decoded("importer=" OWN " node=%u segid=%#x err=OK: done", node, id));
	EXPECT_TRUE(decoded("node=%u segid=%#x perm=0600 err=OK", node, id));
	EXPECT_TRUE(decoded(" MAKE err=OK"));
	EXPECT_TRUE(decoded("REBIND segid=%#x length=%zu err=OK", id, R_SIZE));
	EXPECT_TRUE(decoded("REVOKE segid=%#x", id));
	EXPECT_TRUE(decoded("rsm_cut: "));
	EXPECT_TRUE(decoded(" DEAD err="));
	EXPECT_TRUE(decoded("rsm_end: "));
	EXPECT_TRUE(decoded("segid=%#x err=NOT_PUBLISHED: ", id));
	EXPECT_TRUE(decoded("segid=%#x perm=0600 err=NOT_PUBLISHED", id));
	EXPECT_TRUE(decoded(" CONNECTING -> ESTABLISHED")) TH_LOG("%s", events);
}

TEST_F(auth, an_import_from_a_node_without_an_address_is_in_the_trace)
{
	ASSERT_EQ(0, record_handshakes());
	EXPECT_EQ(RSMERR_REMOTE_NODE_UNREACHABLE,
		  rsm_memseg_import_connect(self->p.ctlr, NODE_FAKE, R_SEGID, 0600, &self->p.imp));
	EXPECT_EQ(1, handshakes("node=63 segid=0x600000 err=UNREACHABLE: its node has no address"));
}

/*
 * Connect, and let @end end the handshake.  Returns 1 if the exporter has then recorded one
 * handshake, which ended with @text.
 */
static int reported_once(FIXTURE_DATA(auth) *self, int (*end)(FIXTURE_DATA(auth) *self),
			 const char *text)
{
	uint64_t until = now_ms() + R_WAIT_MS;

	peer_close(&self->peer);
	if (peer_open(&self->peer) || !accepted(&self->peer, &self->g) || record_handshakes() ||
	    trace_put("trace", "") || !end(self))
		return 0;
	while (!handshakes("importer=") && now_ms() < until)
		usleep(10000);
	/* Closing the peer must not make a second report. */
	peer_close(&self->peer);
	if (peer_open(&self->peer))
		return 0;
	usleep(300000);
	return handshakes("importer=") == 1 && handshakes(text) == 1;
}

static int leaves(FIXTURE_DATA(auth) *self)
{
	peer_close(&self->peer);
	return !peer_open(&self->peer);
}

static int sends_nonsense(FIXTURE_DATA(auth) *self)
{
	int ret = peer_say(&self->peer, "nonsense", 8);

	/* The exporter may have hung up before the second message. */
	peer_say(&self->peer, "nonsense", 8);
	return !ret && peer_thrown_out(&self->peer, R_WAIT_MS);
}

static int proves_twice(FIXTURE_DATA(auth) *self)
{
	struct peer *peer = &self->peer;

	peer->key[31] ^= 1;
	if (peer_prove(peer) || !refused(peer))
		return 0;
	peer->said.proof.uid ^= 1;
	return !peer_say(peer, &peer->said.proof, sizeof(peer->said.proof)) &&
	       peer_thrown_out(peer, R_WAIT_MS);
}

static int is_thrown_out(FIXTURE_DATA(auth) *self)
{
	return !rsm_memseg_export_unpublish(self->p.exp) &&
	       peer_thrown_out(&self->peer, R_WAIT_MS);
}

TEST_F(auth, an_exporter_reports_each_handshake_once)
{
	EXPECT_TRUE(reported_once(self, leaves, "CONN_ABORTED: the peer has left"));
	EXPECT_TRUE(reported_once(self, sends_nonsense, "CONN_ABORTED: its message is invalid"));
	EXPECT_TRUE(reported_once(self, proves_twice, "BAD_CONF: the cluster keys differ"));
	EXPECT_TRUE(reported_once(self, is_thrown_out, "CONN_ABORTED: this node has given up"));
}

/* --- importers -------------------------------------------------------------------- */

TEST_F(auth, an_importer_that_knows_the_key_is_told_the_memory)
{
	struct peer *peer = &self->peer;

	ASSERT_TRUE(accepted(peer, &self->g));
	ASSERT_EQ(0, peer_prove(peer));
	ASSERT_EQ(0, peer_granted(peer));
	EXPECT_EQ(R_SIZE, be64toh(peer->said.grant.length));
	peer->mem[0] = 'k';
	EXPECT_EQ(IBV_WC_SUCCESS, peer_rdma(peer, 1, be64toh(peer->said.grant.addr),
					    be32toh(peer->said.grant.rkey), 1));
	EXPECT_EQ('k', self->p.mem[0]);
}

TEST_F(auth, an_importer_that_asks_is_told_the_owner)
{
	ASSERT_TRUE(accepted(&self->peer, &self->g));
	self->peer.said.owner = ~0U;
	self->peer.said.proof.flags |= PEER_WANTS_OWNER;
	ASSERT_EQ(0, peer_prove(&self->peer));
	ASSERT_EQ(0, peer_granted(&self->peer));
	EXPECT_EQ(PEER_OWNER, self->peer.said.grant.flags);
	EXPECT_EQ(geteuid(), be32toh(self->peer.said.owner));
}

TEST_F(auth, an_importer_with_another_key_is_refused)
{
	self->peer.key[31] ^= 1;
	ASSERT_TRUE(accepted(&self->peer, &self->g));
	ASSERT_EQ(0, peer_prove(&self->peer));
	EXPECT_TRUE(refused(&self->peer));
}

TEST_F(auth, an_importer_that_was_refused_may_not_try_again)
{
	ASSERT_TRUE(accepted(&self->peer, &self->g));
	self->peer.key[0] ^= 1;
	ASSERT_EQ(0, peer_prove(&self->peer));
	ASSERT_TRUE(refused(&self->peer));
	self->peer.key[0] ^= 1;
	peer_mac(&self->peer, 1, self->peer.said.proof.mac);
	peer_say(&self->peer, &self->peer.said.proof, sizeof(self->peer.said.proof));
	EXPECT_TRUE(peer_thrown_out(&self->peer, R_WAIT_MS));
}

/*
 * Flip a bit of byte @at in the peer's transcript before the peer signs its proof.  Returns 1 if
 * the exporter refuses the proof.
 */
static int altered(struct peer *peer, const struct peer_greeting *g, size_t at)
{
	int was_refused;

	if (peer_open(peer) || !accepted(peer, g))
		return 0;
	((char *)&peer->said)[at] ^= 1;
	was_refused = !peer_prove(peer) && refused(peer);
	peer_close(peer);
	return was_refused;
}

#define SAID(field) offsetof(struct peer_transcript, field)

TEST_F(auth, a_proof_of_anything_else_than_was_said_is_refused)
{
	static const size_t fields[] = {
		SAID(greeting.endian), SAID(greeting.node), SAID(greeting.to),
		SAID(greeting.segid), SAID(greeting.perm), SAID(greeting.nonce),
		SAID(answer.endian), SAID(answer.err), SAID(answer.nonce) + 31,
		SAID(exporter_qpn) + 3,
	};
	unsigned int i;

	peer_close(&self->peer);
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		EXPECT_TRUE(altered(&self->peer, &self->g, fields[i])) TH_LOG("field %u", i);
	}
	ASSERT_EQ(0, peer_open(&self->peer));
}

TEST_F(auth, a_proof_whose_user_was_altered_is_refused)
{
	struct peer *peer = &self->peer;

	ASSERT_TRUE(accepted(peer, &self->g));
	peer_mac(peer, 1, peer->said.proof.mac);
	peer->said.proof.flags = PEER_CAPABLE;
	ASSERT_EQ(0, peer_send(peer, &peer->said.proof, sizeof(peer->said.proof)));
	EXPECT_TRUE(refused(peer));
}

TEST_F(auth, a_proof_of_another_connection_is_refused)
{
	struct peer_proof old;

	ASSERT_TRUE(accepted(&self->peer, &self->g));
	ASSERT_EQ(0, peer_prove(&self->peer));
	ASSERT_EQ(0, peer_granted(&self->peer));
	old = self->peer.said.proof;
	peer_close(&self->peer);
	ASSERT_EQ(0, peer_open(&self->peer));
	/* The new connection repeats the importer's nonce, but the exporter chooses a new nonce. */
	ASSERT_TRUE(accepted(&self->peer, &self->g));
	ASSERT_EQ(0, peer_send(&self->peer, &old, sizeof(old)));
	EXPECT_TRUE(refused(&self->peer));
}

TEST_F(auth, a_proof_that_is_said_again_changes_nothing)
{
	struct peer *peer = &self->peer;

	ASSERT_TRUE(accepted(peer, &self->g));
	ASSERT_EQ(0, peer_prove(peer));
	ASSERT_EQ(0, peer_granted(peer));
	ASSERT_EQ(0, peer_say(peer, &peer->said.proof, sizeof(peer->said.proof)));
	EXPECT_EQ(IBV_WC_SUCCESS, peer_rdma(peer, 1, be64toh(peer->said.grant.addr),
					    be32toh(peer->said.grant.rkey), R_PAGE));
	peer->said.proof.ngroups ^= 1;
	peer_say(peer, &peer->said.proof, sizeof(peer->said.proof));
	EXPECT_TRUE(peer_thrown_out(peer, R_WAIT_MS));
}

TEST_F(auth, the_exporters_nonce_is_new_each_time)
{
	uint8_t nonce[PEER_NONCE];

	ASSERT_TRUE(accepted(&self->peer, &self->g));
	memcpy(nonce, self->peer.said.answer.nonce, sizeof(nonce));
	peer_close(&self->peer);
	ASSERT_EQ(0, peer_open(&self->peer));
	ASSERT_TRUE(accepted(&self->peer, &self->g));
	EXPECT_NE(0, memcmp(nonce, self->peer.said.answer.nonce, sizeof(nonce)));
}

TEST_F(auth, an_importer_that_wants_no_proof_is_refused)
{
	struct peer_answer *a = (void *)self->peer.pd;

	self->g.flags = htobe16(PEER_TRUSTS);
	ASSERT_EQ(RDMA_CM_EVENT_REJECTED, greet(&self->peer, &self->g));
	EXPECT_EQ(RSMERR_BAD_CONF, be32toh(a->err));
}

TEST_F(auth, a_user_without_rights_is_refused_by_a_signed_grant)
{
	struct peer *peer = &self->peer;

	umask(0077);
	rsm_memseg_export_destroy(self->p.exp);
	self->p.id = 0;
	ASSERT_EQ(RSM_SUCCESS, r_export(&self->p));
	self->g.segid = htobe32(self->p.id);
	ASSERT_TRUE(accepted(peer, &self->g));
	peer->said.proof.uid = htobe32(4711);
	peer->said.proof.gid = htobe32(4711);
	ASSERT_EQ(0, peer_prove(peer));
	EXPECT_EQ(RSMERR_PERM_DENIED, peer_granted(peer));
	EXPECT_EQ(0, peer->said.grant.rkey);
	EXPECT_EQ(0, peer->said.grant.addr);
}

/* Connect once more, to get a grant of the segment with its memory key. */
static int key_of(struct peer_greeting *g, struct peer_grant *grant)
{
	struct peer other;
	int err = -1;

	if (peer_open(&other))
		return -1;
	if (accepted(&other, g) && !peer_prove(&other))
		err = peer_granted(&other);
	*grant = other.said.grant;
	peer_close(&other);
	return err;
}

TEST_F(auth, who_has_proven_nothing_reaches_no_memory_with_a_key_that_it_guessed)
{
	struct peer *peer = &self->peer;
	struct peer_grant grant;
	int write;

	ASSERT_EQ(0, key_of(&self->g, &grant));
	for (write = 0; write < 2; write++) {
		memset(self->p.mem, 's', R_SIZE);
		ASSERT_TRUE(accepted(peer, &self->g));
		EXPECT_NE(IBV_WC_SUCCESS, peer_rdma(peer, write, be64toh(grant.addr),
						    be32toh(grant.rkey), R_PAGE));
		EXPECT_TRUE(r_all(peer->mem, 0, R_PAGE));
		EXPECT_TRUE(r_all(self->p.mem, 's', R_SIZE));
		peer_close(peer);
		ASSERT_EQ(0, peer_open(peer));
	}
}

TEST_F(auth, who_has_proven_nothing_is_told_no_event_and_no_key)
{
	char buf[PEER_MSG];

	ASSERT_TRUE(accepted(&self->peer, &self->g));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.exp, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(self->p.exp, r_mem(R_SIZE), 0, R_SIZE));
	EXPECT_EQ(-1, peer_receive(&self->peer, buf, R_QUIET_MS));
}

TEST_F(auth, who_has_proven_nothing_wakes_nobody)
{
	struct peer_msg m = {
		.magic = htobe32(PEER_MAGIC), .type = PEER_TELL, .events = htobe32(1),
	};

	ASSERT_TRUE(accepted(&self->peer, &self->g));
	ASSERT_EQ(0, peer_say(&self->peer, &m, sizeof(m)));
	EXPECT_TRUE(peer_thrown_out(&self->peer, R_WAIT_MS));
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(self->p.exp, 0));
}

TEST_F(auth, who_stays_silent_is_cut_after_ten_seconds)
{
	uint64_t begin = now_ms();

	ASSERT_TRUE(accepted(&self->peer, &self->g));
	EXPECT_TRUE(peer_thrown_out(&self->peer, R_WAIT_MS));
	EXPECT_LE(9000, now_ms() - begin);
}

/* SILENT importers connect and never send a proof.  They must not keep a valid importer out. */
TEST_F_TIMEOUT(auth, a_silent_crowd_keeps_nobody_out, 300)
{
	static struct peer crowd[SILENT];
	int i;

	for (i = 0; i < SILENT; i++) {
		ASSERT_EQ(0, peer_open(&crowd[i]));
		ASSERT_EQ(0, peer_connect(&crowd[i], OWN, &self->g, sizeof(self->g)));
	}
	EXPECT_EQ(RSM_SUCCESS, r_import(&self->p, RSM_PERM_RDWR));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(self->p.imp, 0, "x", 1));
	for (i = 0; i < SILENT; i++)
		peer_close(&crowd[i]);
}

/*
 * The exporter's adapter keeps at most 64 importers without a proof whose nodes are not in the node
 * table.  The 65th importer evicts the oldest one.  An importer whose node is in the table stays,
 * even if it has waited longer.
 */
TEST_F_TIMEOUT(auth, the_oldest_stranger_makes_room_and_a_known_node_stays, 120)
{
	static struct peer crowd[UNPROVEN + 1];
	uint64_t begin = now_ms(), connected, took;
	struct peer_greeting stranger = self->g;
	int i;

	stranger.node = htobe32(self->p.node % 64 + 1);
	ASSERT_TRUE(accepted(&self->peer, &self->g));
	for (i = 0; i < UNPROVEN + 1; i++) {
		ASSERT_EQ(0, peer_open(&crowd[i]));
		ASSERT_TRUE(accepted(&crowd[i], &stranger)) TH_LOG("%d", i);
	}
	connected = now_ms() - begin;
	EXPECT_TRUE(peer_thrown_out(&crowd[0], R_WAIT_MS));
	took = now_ms() - begin;
	/*
	 * The exporter also cuts every importer that has sent no proof within ten seconds.  On a
	 * slow machine the cuts may have that cause.
	 */
	if (took < 9500) {
		EXPECT_EQ(-1, peer_event(&self->peer, 0));
		EXPECT_EQ(-1, peer_event(&crowd[1], 0));
	}
	for (i = 0; i < UNPROVEN + 1; i++)
		peer_close(&crowd[i]);
	if (took >= 9500 && connected > 3000)
		SKIP(return, "the machine took %llu ms to connect %d peers",
		     (unsigned long long)connected, UNPROVEN + 2);
	EXPECT_GT(9500, took);
}

/* Programs of one node may import at once, so none of them makes room for the next. */
TEST_F_TIMEOUT(auth, importers_of_one_node_do_not_end_each_other, 120)
{
	static struct peer crowd[NODE_PLACES];
	uint64_t begin = now_ms(), took;
	int i;

	for (i = 0; i < NODE_PLACES; i++) {
		ASSERT_EQ(0, peer_open(&crowd[i]));
		ASSERT_TRUE(accepted(&crowd[i], &self->g)) TH_LOG("%d", i);
	}
	took = now_ms() - begin;
	/* After ten seconds the exporter ends an importer without a proof. */
	if (took < 9000) {
		EXPECT_EQ(0, peer_prove(&crowd[0]));
		EXPECT_EQ(0, peer_granted(&crowd[0]));
	}
	for (i = 0; i < NODE_PLACES; i++)
		peer_close(&crowd[i]);
	if (took >= 9000)
		SKIP(return, "the machine took %llu ms to connect %d peers",
		     (unsigned long long)took, NODE_PLACES);
}

/* --- exporters -------------------------------------------------------------------- */

/*
 * struct impostor - an exporter that may not know the cluster key
 * @peer: exporter's end of the connection
 * @owner: send a grant with an owner, user 5
 * @forges: send another owner than the MAC covers
 * @reflects: send the importer's MAC back instead of a MAC computed with the key
 * @says_nothing: accept the connection, but send no grant
 * @overhears: ignore the first proof, and answer the second
 * @leaves: the first @leaves connections are ended as soon as the importer has sent its proof
 * @silences: the next @silences connections are accepted, but get no grant
 * @over: the importer's call has returned, so no request follows; atomic
 * @bad: result of impostor_thread(); 0 if all steps succeeded
 */
struct impostor {
	struct peer	*peer;
	int		owner;
	int		forges;
	int		reflects;
	int		says_nothing;
	int		overhears;
	int		leaves;
	int		silences;
	int		over;
	int		bad;
};

/* Wait for the next request.  Returns -1 if none arrives. */
static int asked(struct impostor *im)
{
	uint64_t end = now_ms() + R_WAIT_MS;
	int ev;

	do {
		ev = peer_event(im->peer, R_QUIET_MS);
	} while (ev == -1 && !__atomic_load_n(&im->over, __ATOMIC_ACQUIRE) && now_ms() < end);
	return ev == RDMA_CM_EVENT_CONNECT_REQUEST ? 0 : -1;
}

/*
 * Accept the next importer and wait for its proof.  If @silent is not set, disconnect then.  If
 * @silent is set, send nothing, and wait until the importer disconnects.
 */
static int leave(struct impostor *im, int silent)
{
	struct peer *peer = im->peer;
	struct peer_answer a;

	if (asked(im))
		return -1;
	peer_answer(&a, peer);
	if (peer_accept(peer, &a, sizeof(a)) ||
	    peer_event(peer, R_WAIT_MS) != RDMA_CM_EVENT_ESTABLISHED || peer_proven(peer) ||
	    (!silent && rdma_disconnect(peer->id)) || !peer_thrown_out(peer, R_WAIT_MS))
		return -1;
	rdma_destroy_qp(peer->id);
	ibv_dereg_mr(peer->mr);
	rdma_destroy_id(peer->id);
	peer->mr = NULL;
	peer->id = NULL;
	return 0;
}

static int pretend(struct impostor *im)
{
	struct peer_owner_grant og = { 0 };
	struct peer *peer = im->peer;
	struct peer_answer a;
	int i;

	for (i = 0; i < im->leaves; i++)
		if (leave(im, 0))
			return 5;
	for (i = 0; i < im->silences; i++)
		if (leave(im, 1))
			return 6;
	if (asked(im))
		return 1;
	peer_answer(&a, peer);
	/*
	 * Use the importer's nonce as the exporter's nonce.  Then both sides sign nearly the same
	 * transcript, which gives the reflected MAC its best chance.
	 */
	if (im->reflects)
		memcpy(a.nonce, peer->said.greeting.nonce, sizeof(a.nonce));
	if (peer_accept(peer, &a, sizeof(a)))
		return 2;
	if (peer_event(peer, R_WAIT_MS) != RDMA_CM_EVENT_ESTABLISHED)
		return 3;
	if (im->says_nothing)
		return 0;
	if (im->overhears && peer_proven(peer))
		return 4;
	peer_proven(peer);
	if (im->owner) {
		peer->said.grant.flags = PEER_OWNER;
		peer->said.owner = htobe32(5);
	}
	if (im->reflects)
		memcpy(peer->said.grant.mac, peer->said.proof.mac, PEER_MAC);
	else
		peer_mac(peer, 0, peer->said.grant.mac);
	og.grant = peer->said.grant;
	og.owner = htobe32(im->forges ? 0 : 5);
	/* The importer may disconnect before its adapter acknowledges the grant. */
	return peer_say(peer, &og, im->owner ? sizeof(og) : sizeof(og.grant)) ? 7 : 0;
}

static void *impostor_thread(void *arg)
{
	struct impostor *im = arg;

	im->bad = pretend(im);
	return NULL;
}

/* Import a segment from the impostor.  Returns the result of the connect, or -1. */
static int import_from(struct impostor *im, struct r_pair *p)
{
	struct dat_rsm_node node = r_node_at(NODE_FAKE, FAKE);
	pthread_t t;
	int ret;

	if (v0_add(FAKE) || r_nodes(&node, 1, -1) || peer_listen(im->peer, FAKE) ||
	    pthread_create(&t, NULL, impostor_thread, im))
		return -1;
	ret = rsm_memseg_import_connect(p->ctlr, NODE_FAKE, R_SEGID, 0600, &p->imp);
	__atomic_store_n(&im->over, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	return ret;
}

/* Returns the number of imports of this process with cut=1 in fdinfo, or -1. */
static int imports_cut(void)
{
	FILE *p = popen("grep -hc 'rsm-import:.* cut=1 ' "
			"$(grep -l rsm-import: /proc/$PPID/fdinfo/*)", "r");
	int n = -1;

	if (!p)
		return -1;
	if (fscanf(p, "%d", &n) != 1)
		n = -1;
	pclose(p);
	return n;
}

TEST_F(auth, an_exporter_that_knows_the_key_is_imported_from)
{
	struct impostor im = { .peer = &self->peer };

	EXPECT_EQ(RSM_SUCCESS, import_from(&im, &self->p));
	EXPECT_EQ(0, im.bad);
}

TEST_F(auth, an_exporter_that_names_its_user_is_believed)
{
	struct impostor im = { .peer = &self->peer, .owner = 1 };
	uid_t owner = 0;

	ASSERT_EQ(RSM_SUCCESS, import_from(&im, &self->p));
	EXPECT_EQ(RSM_SUCCESS, rsm_linux_import_owner(self->p.imp, &owner));
	EXPECT_EQ(5, owner);
}

TEST_F(auth, an_owner_that_was_altered_is_refused)
{
	struct impostor im = { .peer = &self->peer, .owner = 1, .forges = 1 };

	EXPECT_EQ(RSMERR_BAD_CONF, import_from(&im, &self->p));
}

/* Kernels of an earlier version name no owner. */
TEST_F(auth, an_exporter_that_names_no_user_has_an_unknown_one)
{
	struct impostor im = { .peer = &self->peer };
	uid_t owner;

	ASSERT_EQ(RSM_SUCCESS, import_from(&im, &self->p));
	EXPECT_EQ(RSMERR_BAD_CONF, rsm_linux_import_owner(self->p.imp, &owner));
}

TEST_F(auth, an_importer_that_hears_nothing_proves_it_once_more)
{
	struct impostor im = { .peer = &self->peer, .overhears = 1 };

	EXPECT_EQ(RSM_SUCCESS, import_from(&im, &self->p));
	EXPECT_EQ(0, im.bad);
}

TEST_F(auth, an_exporter_that_leaves_in_the_middle_is_asked_again)
{
	struct impostor im = { .peer = &self->peer, .leaves = 3 };

	EXPECT_EQ(RSM_SUCCESS, import_from(&im, &self->p));
	EXPECT_EQ(0, im.bad);
	EXPECT_EQ(0, imports_cut());
}

/*
 * The exporter's disconnect may be lost on the network.  So an importer that gets no grant connects
 * once more.
 */
TEST_F_TIMEOUT(auth, an_exporter_that_falls_silent_is_asked_once_more, 60)
{
	struct impostor im = { .peer = &self->peer, .silences = 1 };

	EXPECT_EQ(RSM_SUCCESS, import_from(&im, &self->p));
	EXPECT_EQ(0, im.bad);
	EXPECT_EQ(0, imports_cut());
}

TEST_F_TIMEOUT(auth, an_exporter_that_always_leaves_is_asked_for_ten_seconds, 60)
{
	struct impostor im = { .peer = &self->peer, .leaves = INT_MAX };
	uint64_t begin = now_ms();

	EXPECT_EQ(RSMERR_INSUFFICIENT_RESOURCES, import_from(&im, &self->p));
	EXPECT_LE(10000, now_ms() - begin + 1);
	EXPECT_EQ(0, imports_cut());
}

TEST_F(auth, an_exporter_with_another_key_is_refused)
{
	struct impostor im = { .peer = &self->peer };

	self->peer.key[31] ^= 1;
	EXPECT_EQ(RSMERR_BAD_CONF, import_from(&im, &self->p));
	EXPECT_EQ(0, im.bad);
}

TEST_F(auth, an_exporter_that_sends_the_importers_proof_back_is_refused)
{
	struct impostor im = { .peer = &self->peer, .reflects = 1 };

	EXPECT_EQ(RSMERR_BAD_CONF, import_from(&im, &self->p));
	EXPECT_EQ(0, im.bad);
}

TEST_F_TIMEOUT(auth, an_exporter_that_says_nothing_is_given_up, 60)
{
	struct impostor im = { .peer = &self->peer, .says_nothing = 1 };

	EXPECT_EQ(RSMERR_REMOTE_NODE_UNREACHABLE, import_from(&im, &self->p));
	EXPECT_EQ(0, im.bad);
}

/* --- without a key ---------------------------------------------------------------- */

TEST_F(auth, without_a_key_adapters_are_not_used_and_loopback_is)
{
	rsmapi_controller_handle_t loopback;
	rsm_memseg_export_handle_t exp;
	void *mem = r_mem(R_SIZE), *imp;

	ASSERT_EQ(0, record_handshakes());
	ASSERT_EQ(0, key_use(0));
	EXPECT_EQ(0, state());
	EXPECT_EQ(RSMERR_BAD_CONF,
		  rsm_memseg_export_create(self->p.ctlr, &exp, mem, R_SIZE, 0));
	EXPECT_EQ(RSMERR_BAD_CONF, rsm_memseg_import_connect(self->p.ctlr, self->p.node,
							     self->p.id, 0600, &imp));
	EXPECT_EQ(2, handshakes("err=BAD_CONF: this node has no valid cluster key"));
	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller(NULL, &loopback));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_create(loopback, &exp, mem, R_SIZE, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(exp));
	EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(loopback));
}

TEST_F(auth, without_a_key_the_library_says_what_to_do)
{
	rsm_memseg_export_handle_t exp;
	char text[512] = "";
	int out[2], saved = dup(2);

	ASSERT_EQ(0, key_use(0));
	ASSERT_EQ(0, pipe(out));
	dup2(out[1], 2);
	EXPECT_EQ(RSMERR_BAD_CONF,
		  rsm_memseg_export_create(self->p.ctlr, &exp, r_mem(R_SIZE), R_SIZE, 0));
	dup2(saved, 2);
	EXPECT_LT(0, read(out[0], text, sizeof(text) - 1));
	EXPECT_NE(NULL, strstr(text, "rsm-nodes key"));
}

/* The log has ten lines a minute about the peers of a node without a key.  Users take none. */
TEST_F(auth, without_a_key_local_calls_leave_the_log_to_peers)
{
	rsm_memseg_export_handle_t exp;
	void *mem = r_mem(R_SIZE), *imp;
	int klog = klog_open(), i;

	ASSERT_LE(0, klog);
	ASSERT_EQ(0, key_use(0));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(RSMERR_BAD_CONF,
			  rsm_memseg_export_create(self->p.ctlr, &exp, mem, R_SIZE, 0));
		ASSERT_EQ(RSMERR_BAD_CONF, rsm_memseg_import_connect(self->p.ctlr, self->p.node,
								     self->p.id, 0600, &imp));
	}
	EXPECT_EQ(0, klog_count(klog, "no handshake"));
	ASSERT_EQ(RDMA_CM_EVENT_REJECTED, greet(&self->peer, &self->g));
	EXPECT_TRUE(klog_await(klog, "this node has no valid cluster key", R_WAIT_MS));
	close(klog);
}

TEST_F(auth, an_exporter_that_lost_its_key_lets_nobody_in)
{
	struct peer_answer *a = (void *)self->peer.pd;

	ASSERT_EQ(0, key_use(0));
	ASSERT_EQ(RDMA_CM_EVENT_REJECTED, greet(&self->peer, &self->g));
	EXPECT_EQ(RSMERR_BAD_CONF, be32toh(a->err));
}

TEST_F(auth, a_key_that_is_revoked_is_none)
{
	int32_t serial = key_add("logon", "rsm:cluster", peer_key, PEER_KEY);
	struct peer_answer *a = (void *)self->peer.pd;
	rsm_memseg_export_handle_t exp;

	ASSERT_LT(0, serial);
	ASSERT_EQ(0, key_use(serial));
	EXPECT_EQ(RSM_SUCCESS, r_import(&self->p, RSM_PERM_RDWR));
	ASSERT_EQ(0, syscall(SYS_keyctl, KEYCTL_REVOKE, serial));
	EXPECT_EQ(RSMERR_BAD_CONF, r_import(&self->p, RSM_PERM_RDWR));
	/*
	 * Without a valid key, an export and a greeting fail at once, before the handshake begins.
	 */
	EXPECT_EQ(RSMERR_BAD_CONF, rsm_memseg_export_create(self->p.ctlr, &exp, r_mem(R_SIZE),
							    R_SIZE, 0));
	ASSERT_EQ(RDMA_CM_EVENT_REJECTED, greet(&self->peer, &self->g));
	EXPECT_EQ(RSMERR_BAD_CONF, be32toh(a->err));
}

/*
 * The driver must not use an expired key.  The bytes of an expired key still exist, but the bytes
 * of a revoked key do not.
 */
TEST_F(auth, a_key_that_expires_during_the_handshake_proves_nothing)
{
	int32_t serial = key_add("logon", "rsm:cluster", peer_key, PEER_KEY);

	ASSERT_LT(0, serial);
	ASSERT_EQ(0, key_use(serial));
	ASSERT_TRUE(accepted(&self->peer, &self->g));
	ASSERT_EQ(0, syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, serial, 1));
	sleep(3);
	ASSERT_EQ(0, record_handshakes());
	ASSERT_EQ(0, peer_prove(&self->peer));
	EXPECT_TRUE(refused(&self->peer));
	EXPECT_EQ(1, handshakes("this node has no valid cluster key"));
}

TEST_F(auth, who_trusts_the_network_neither_gives_nor_wants_a_proof)
{
	ASSERT_EQ(0, key_use(0));
	ASSERT_EQ(0, trust(1));
	EXPECT_EQ(DAT_RSM_NODE_TRUSTS, state());
	EXPECT_EQ(RSM_SUCCESS, r_import(&self->p, RSM_PERM_RDWR));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(self->p.imp, 0, "t", 1));
	EXPECT_EQ('t', self->p.mem[0]);
	self->g.flags = htobe16(PEER_TRUSTS);
	ASSERT_TRUE(accepted(&self->peer, &self->g));
	memset(self->peer.key, 0, PEER_KEY);
	ASSERT_EQ(0, peer_prove(&self->peer));
	/* Without a key the grant is not signed, so peer_granted() returns -1. */
	EXPECT_EQ(-1, peer_granted(&self->peer));
	EXPECT_EQ(0, self->peer.said.grant.err);
	EXPECT_NE(0, self->peer.said.grant.rkey);
}

/* --- keys ------------------------------------------------------------------------- */

/*
 * Run in a child process, which has a process keyring of its own.  In the keyring of this process,
 * add_key() would change the existing key of the same name.
 */
static int use_bad_keys(void *arg)
{
	(void)arg;
	if (key_use(key_add("logon", "rsm:cluster", peer_key, 31)) != DAT_RSM_BAD_CONF)
		return 1;
	if (key_use(key_add("logon", "rsm:other", peer_key, 32)) != DAT_RSM_BAD_CONF)
		return 2;
	if (key_use(key_add("user", "rsm:cluster", peer_key, 32)) != DAT_RSM_BAD_CONF)
		return 3;
	return key_use(0x7fffffff) == DAT_RSM_BAD_CONF ? 0 : 4;
}

TEST_F(auth, only_a_long_logon_key_of_the_right_name_is_taken)
{
	EXPECT_EQ(0, r_child(use_bad_keys, NULL));
	EXPECT_EQ(DAT_RSM_NODE_KEYED, state());
	EXPECT_EQ(RSM_SUCCESS, r_import(&self->p, RSM_PERM_RDWR));
}

TEST_F(auth, nobody_reads_the_key_back)
{
	int32_t serial = key_add("logon", "rsm:cluster", peer_key, PEER_KEY);
	char buf[PEER_KEY];

	ASSERT_EQ(0, key_use(serial));
	EXPECT_EQ(-1, syscall(SYS_keyctl, KEYCTL_READ, serial, buf, sizeof(buf)));
}

static int plant_as_nobody(void *arg)
{
	(void)arg;
	if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 100;
	if (key_use(key_add("logon", "rsm:cluster", "a key that a stranger has planted", 32)) !=
	    DAT_RSM_PERM_DENIED)
		return 101;
	if (key_use(0) != DAT_RSM_PERM_DENIED)
		return 102;
	return trust(1) == DAT_RSM_PERM_DENIED ? 0 : 103;
}

TEST_F(auth, a_process_without_privileges_can_neither_plant_a_key_nor_trust)
{
	ASSERT_EQ(0, system("chmod 0666 /dev/rsm"));
	EXPECT_EQ(0, r_child(plant_as_nobody, NULL));
	EXPECT_EQ(DAT_RSM_NODE_KEYED, state());
	EXPECT_EQ(RSM_SUCCESS, r_import(&self->p, RSM_PERM_RDWR));
}

/* --- the port --------------------------------------------------------------------- */

static int take_port_as_nobody(void *arg)
{
	struct t_file f;
	struct t_evd cr;
	struct peer peer;
	uint32_t psp;

	(void)arg;
	if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 100;
	if (t_open(&f) || t_evd(&f, DAT_STREAM_CR, 16, &cr))
		return 101;
	if (t_psp(&f, &cr, PEER_PORT, &psp) != -EPERM)
		return 102;
	if (peer_open(&peer) || !peer_listen(&peer, OWN))
		return 103;
	return 0;
}

TEST_F(auth, a_process_without_privileges_does_not_get_the_port)
{
	ASSERT_EQ(0, system("chmod 0666 /dev/dat /dev/infiniband/*"));
	/* Destroy the only export: the driver closes the adapter, and the port becomes free. */
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(self->p.exp));
	self->p.exp = NULL;
	EXPECT_EQ(0, r_child(take_port_as_nobody, NULL));
}

/* Export a segment as an unprivileged user. */
static int export_as_nobody(void *arg)
{
	struct r_pair p;

	(void)arg;
	if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 100;
	return r_open(&p) ? 101 : r_export(&p);
}

TEST_F(auth, a_process_without_privileges_can_be_the_first_to_export)
{
	ASSERT_EQ(0, system("chmod 0666 /dev/rsm"));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(self->p.exp));
	self->p.exp = NULL;
	EXPECT_EQ(0, r_child(export_as_nobody, NULL));
}

#define PORT "/sys/module/dat_rsm/parameters/port"

TEST_F(auth, the_port_is_one_of_those_that_no_process_gets)
{
	EXPECT_NE(0, system("echo 1024 2>/dev/null >" PORT));
	EXPECT_NE(0, system("echo 512 2>/dev/null >" PORT));
	EXPECT_NE(0, system("echo 0 2>/dev/null >" PORT));
	EXPECT_EQ(0, system("echo 511 >" PORT " && echo 341 >" PORT));
}

TEST_HARNESS_MAIN
