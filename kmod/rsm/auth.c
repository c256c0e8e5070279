// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The handshake in which two kernels prove to each other that they know the cluster key; see
 * rsm/wire.h.  The kernel's crypto API computes the HMAC.
 */
#include <crypto/algapi.h>
#include <crypto/hash.h>
#include <keys/user-type.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/key.h>
#include <linux/random.h>

#include "lib/log.h"
#include "rsm/msg.h"
#include "rsm/trace.h"

#define KEY_NAME	"rsm:cluster"

#undef EM
#undef EMe
#define EM(why, name) \
	[why] = name,
#define EMe(why, name) \
	[why] = name

/* Names of enum rsm_why, by the value. */
static const char * const why_names[] = { RSM_WHY_NAMES };

static_assert(ARRAY_SIZE(why_names) == RSM_NR_WHYS);

/* Each reason has a limit of its own, so that a flood of one reason does not hide the others. */
static struct ratelimit_state log_limits[RSM_NR_WHYS] = {
	[0 ... RSM_NR_WHYS - 1] = RATELIMIT_STATE_INIT(log_limits, 60 * HZ, 10),
};

/*
 * Returns true if a line with the reason @why may be logged now.  When the rate limiter logs how
 * many lines it has suppressed, that line contains the name of this function.
 */
static bool handshake_log_allowed(enum rsm_why why)
{
	return READ_ONCE(dat_log_all) || __ratelimit(&log_limits[why]);
}

void rsm_handshake_end(const struct rsm_peer *peer, enum rsm_why why, int err)
{
	trace_rsm_handshake(peer, why, err);
	if (why < RSM_WHY_GREETING || !handshake_log_allowed(why))
		return;
	pr_warn(KBUILD_MODNAME ": no handshake with %s %pISc: %s\n",
		peer->exports ? "exporter" : "importer", &peer->addr, why_names[why]);
}

static const char importer_label[16] = "RSM 2 importer";
static const char exporter_label[16] = "RSM 2 exporter";

static struct key *node_key(struct rsm_node *node)
{
	struct key *key;

	spin_lock(&node->key_lock);
	key = key_get(node->key);
	spin_unlock(&node->key_lock);
	return key;
}

/*
 * Returns the payload of @key, or NULL if the payload is too short or the key has been revoked.
 * key->sem is held.
 */
static const struct user_key_payload *key_payload(const struct key *key)
{
	const struct user_key_payload *payload = user_key_payload_locked(key);

	lockdep_assert_held(&key->sem);
	return payload && payload->datalen >= RSM_KEY_MIN ? payload : NULL;
}

/*
 * Computes the HMAC of @t with @key, and stores it in @mac.  May sleep.  Fails with -ENOPKG if this
 * kernel has no hmac(sha256); with -ENOKEY if the key is revoked, expired, invalidated or too
 * short; or with an error of the crypto API.
 */
static int key_digest(struct key *key, const struct rsm_transcript *t, u8 *mac)
{
	const struct user_key_payload *payload;
	struct crypto_shash *tfm;
	int ret;

	if (key_validate(key))
		return -ENOKEY;
	tfm = crypto_alloc_shash("hmac(sha256)", 0, 0);
	if (IS_ERR(tfm)) {
		ret = PTR_ERR(tfm);
		return ret == -ENOENT || ret == -ELIBBAD ? -ENOPKG : ret;
	}
	down_read(&key->sem);
	payload = key_payload(key);
	ret = payload ? crypto_shash_setkey(tfm, payload->data, payload->datalen) : -ENOKEY;
	up_read(&key->sem);
	if (!ret)
		ret = crypto_shash_tfm_digest(tfm, (const u8 *)t, sizeof(*t), mac);
	/* Freeing @tfm also zeroes the copy of the key in @tfm. */
	crypto_free_shash(tfm);
	return ret;
}

int rsm_auth_ready(struct rsm_node *node)
{
	struct key *key;
	bool good;

	if (READ_ONCE(node->trusts))
		return 0;
	key = node_key(node);
	good = key && !key_validate(key);
	key_put(key);
	return good ? 0 : -EKEYREJECTED;
}

/* Converts an error of key_digest(), auth_mac() or auth_check() to an errno of rsm/error.c. */
static int auth_error(int err)
{
	switch (err) {
	case -ENOKEY:
	case -EKEYREJECTED:
		return -EKEYREJECTED;
	case -ENOMEM:
		return -ENOMEM;
	default:
		return -ENOSPC;
	}
}

/* Converts an error of auth_mac() or auth_check() to the reason for the end of the handshake. */
static enum rsm_why auth_why(int err)
{
	switch (err) {
	case -ENOKEY:
		return RSM_WHY_NO_KEY;
	case -EKEYREJECTED:
		return RSM_WHY_KEY;
	default:
		return RSM_WHY_REFUSED;
	}
}

/*
 * Checks the type, the name, the length and the validity of @key.  Also computes an HMAC, so that a
 * kernel without hmac(sha256) refuses the key with -ENOPKG.
 */
static int key_check(struct key *key)
{
	static const struct rsm_transcript nothing;
	u8 mac[RSM_MAC];
	int ret;

	if (key->type != &key_type_logon || strcmp(key->description, KEY_NAME))
		return -EKEYREJECTED;
	ret = key_digest(key, &nothing, mac);
	return !ret || ret == -ENOPKG ? ret : auth_error(ret);
}

int rsm_auth_set_key(struct rsm_node *node, s32 serial)
{
	struct key *key = NULL;
	key_ref_t ref;
	int ret;

	if (serial) {
		ref = lookup_user_key(serial, 0, KEY_NEED_SEARCH);
		if (IS_ERR(ref))
			return -EKEYREJECTED;
		key = key_ref_to_ptr(ref);
		ret = key_check(key);
		if (ret) {
			key_put(key);
			return ret;
		}
	}
	spin_lock(&node->key_lock);
	swap(node->key, key);
	spin_unlock(&node->key_lock);
	key_put(key);
	return 0;
}

bool rsm_auth_link(struct rsm_conn *conn)
{
	struct rsm_transcript *t = &conn->transcript;
	struct dat_path path;

	lockdep_assert_held(&conn->end_lock);
	if (kdat_ep_path(conn->ep, &path) != DAT_SUCCESS)
		return false;
	if (!conn->ops->importer) {
		swap(path.local, path.remote);
		swap(path.local_qpn, path.remote_qpn);
	}
	memcpy(t->importer_gid, &path.local, sizeof(t->importer_gid));
	memcpy(t->exporter_gid, &path.remote, sizeof(t->exporter_gid));
	t->importer_qpn = cpu_to_be32(path.local_qpn);
	t->exporter_qpn = cpu_to_be32(path.remote_qpn);
	return true;
}

/*
 * Computes the importer's or the exporter's HMAC over conn->transcript, as struct rsm_proof and
 * struct rsm_grant describe.  Returns -ENOKEY if the node has no key, or an error of key_digest().
 */
static int auth_mac(struct rsm_conn *conn, bool importer, u8 *mac)
{
	struct key *key = node_key(conn->ctlr->node);
	struct rsm_transcript t = conn->transcript;
	int ret;

	if (!key)
		return -ENOKEY;
	memcpy(t.label, importer ? importer_label : exporter_label, sizeof(t.label));
	if (importer) {
		memset(&t.proof.mac, 0, sizeof(t.proof.mac));
		memset(&t.grant, 0, sizeof(t.grant));
		t.owner = 0;
	} else {
		memset(&t.grant.mac, 0, sizeof(t.grant.mac));
	}
	ret = key_digest(key, &t, mac);
	key_put(key);
	return ret;
}

/*
 * Checks a received HMAC.  Returns 0 if @mac is right or the network is trusted, -EKEYREJECTED if
 * @mac is wrong, or an error of auth_mac().
 */
static int auth_check(struct rsm_conn *conn, bool importer, const u8 *mac)
{
	u8 own[RSM_MAC];
	int ret;

	if (conn->trusts)
		return 0;
	ret = auth_mac(conn, importer, own);
	if (ret)
		return ret;
	return crypto_memneq(own, mac, RSM_MAC) ? -EKEYREJECTED : 0;
}

static int auth_sign(struct rsm_conn *conn, bool importer, u8 *mac)
{
	return conn->trusts ? 0 : auth_mac(conn, importer, mac);
}

void rsm_auth_greet(struct rsm_conn *conn, u32 node, u32 segid, u32 perm)
{
	const struct group_info *info = current_cred()->group_info;
	struct rsm_proof *p = &conn->transcript.proof;
	u32 n = min_t(u32, info->ngroups, RSM_PROOF_GROUPS), i;

	conn->transcript.greeting = (struct rsm_greeting) {
		.magic = cpu_to_be32(RSM_MAGIC), .version = RSM_VERSION, .endian = RSM_ENDIAN,
		.flags = cpu_to_be16(conn->trusts ? RSM_GREETING_TRUSTS : 0),
		.node = cpu_to_be32(READ_ONCE(conn->ctlr->node->id)), .to = cpu_to_be32(node),
		.segid = cpu_to_be32(segid), .perm = cpu_to_be32(perm),
	};
	get_random_bytes(conn->transcript.greeting.nonce, RSM_NONCE);
	*p = (struct rsm_proof) {
		.magic = cpu_to_be32(RSM_MAGIC), .type = RSM_MSG_PROOF,
		.flags = RSM_PROOF_WANTS_OWNER |
			 (capable(CAP_DAC_OVERRIDE) ? RSM_PROOF_CAPABLE : 0),
		.ngroups = cpu_to_be16(n),
		.uid = cpu_to_be32(from_kuid_munged(&init_user_ns, current_euid())),
		.gid = cpu_to_be32(from_kgid_munged(&init_user_ns, current_egid())),
	};
	for (i = 0; i < n; i++)
		p->groups[i] = cpu_to_be32(from_kgid_munged(&init_user_ns, info->gid[i]));
}

void rsm_auth_prove(struct rsm_conn *conn)
{
	struct rsm_proof *p = &conn->transcript.proof;
	int ret;

	lockdep_assert_held(&conn->end_lock);
	ret = auth_sign(conn, true, p->mac);
	if (ret) {
		rsm_conn_lost(conn, auth_why(ret), auth_error(ret));
		return;
	}
	spin_lock_bh(&conn->lock);
	if (conn->state < RSM_CONN_LOST)
		rsm_msg_handshake(conn, p, sizeof(*p));
	spin_unlock_bh(&conn->lock);
}

/*
 * Sends the proof again while the importer waits for the GRANT.  If the first proof arrives while
 * the exporter's siw completes the accept, siw processes that proof only when more data arrives.
 */
void rsm_auth_prove_again(struct rsm_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (conn->state < RSM_CONN_LOST)
		rsm_msg_handshake(conn, &conn->transcript.proof, sizeof(conn->transcript.proof));
}

/*
 * Handles the GRANT of the exporter.  @owner: owner in the GRANT, or NULL.  If the GRANT's HMAC was
 * made with a different cluster key, the connection ends with -EKEYREJECTED.
 */
static void auth_granted(struct rsm_conn *conn, const struct rsm_grant *grant, const __be32 *owner)
{
	int ret, err;

	conn->transcript.grant = *grant;
	conn->transcript.owner = owner ? *owner : 0;
	ret = auth_check(conn, false, grant->mac);
	if (ret == -EKEYREJECTED && grant->err) {
		/*
		 * An exporter that refuses or cannot check the importer's HMAC sends a GRANT with
		 * an error and without HMAC.
		 */
		rsm_conn_lost(conn, RSM_WHY_CONF, ret);
	} else if (ret) {
		rsm_conn_lost(conn, auth_why(ret), auth_error(ret));
	} else if (grant->err) {
		err = rsm_error_of_wire(grant->err);
		rsm_conn_lost(conn, rsm_why_refused(err), err);
	} else {
		spin_lock_bh(&conn->lock);
		rsm_conn_up(conn);
		spin_unlock_bh(&conn->lock);
	}
}

int rsm_auth_agree(struct rsm_node *node, const struct rsm_greeting *g, enum rsm_why *why)
{
	bool trusts = g->flags & cpu_to_be16(RSM_GREETING_TRUSTS);

	*why = RSM_WHY_TRUST;
	if (trusts != READ_ONCE(node->trusts))
		return -EKEYREJECTED;
	*why = RSM_WHY_NO_KEY;
	return rsm_auth_ready(node);
}

/* Sends the GRANT in conn->transcript. */
static void auth_send_grant(struct rsm_conn *conn)
{
	struct rsm_owner_grant msg = {
		.grant = conn->transcript.grant, .owner = conn->transcript.owner,
	};
	bool owner = msg.grant.flags & RSM_GRANT_OWNER;

	lockdep_assert_held(&conn->lock);
	rsm_msg_handshake(conn, &msg, owner ? sizeof(msg) : sizeof(msg.grant));
}

/*
 * Handles the PROOF of an importer, and answers by a GRANT.  After a GRANT with an error, the
 * importer should disconnect, and RSM_PROOF_TIMEOUT ends the connection otherwise.  Returns false
 * if the connection must end.
 */
static bool auth_proven(struct rsm_conn *conn, const struct rsm_proof *proof)
{
	struct rsm_grant *grant = &conn->transcript.grant;
	enum rsm_why why = RSM_WHY_REFUSED;
	int ret;

	/* The importer sends its proof once more if the GRANT does not arrive soon. */
	if (conn->proof_received) {
		if (!memcmp(&conn->transcript.proof, proof, sizeof(*proof)))
			return true;
		rsm_conn_report(conn, RSM_WHY_MESSAGE, -ECONNABORTED);
		return false;
	}
	WRITE_ONCE(conn->proof_received, true);
	conn->transcript.proof = *proof;
	*grant = (struct rsm_grant) {
		.magic = cpu_to_be32(RSM_MAGIC), .type = RSM_MSG_GRANT,
	};
	ret = auth_check(conn, true, proof->mac);
	if (ret) {
		grant->err = rsm_error_to_wire(auth_error(ret));
		why = auth_why(ret);
	} else {
		if (!conn->ops->proven(conn))
			return false;
		ret = auth_sign(conn, false, grant->mac);
		if (ret) {
			rsm_conn_report(conn, auth_why(ret), auth_error(ret));
			return false;
		}
	}
	if (grant->err)
		rsm_conn_report(conn, why, rsm_error_of_wire(grant->err));
	spin_lock_bh(&conn->lock);
	/* If this side has hung up meanwhile, a GRANT would give the importer a dead connection. */
	if (conn->state == RSM_CONN_LINKED) {
		auth_send_grant(conn);
		if (!grant->err)
			rsm_conn_up(conn);
	}
	spin_unlock_bh(&conn->lock);
	return true;
}

/* Checks the length and the header of a message.  @len: length as received, unchecked. */
static bool auth_valid(const struct rsm_conn *conn, const void *msg, u32 len)
{
	const struct rsm_proof *proof = msg;
	const struct rsm_grant *grant = msg;

	if (!conn->ops->importer)
		return len == sizeof(*proof) && proof->magic == cpu_to_be32(RSM_MAGIC) &&
		       proof->type == RSM_MSG_PROOF;
	if (len != sizeof(*grant) && len != sizeof(struct rsm_owner_grant))
		return false;
	return grant->magic == cpu_to_be32(RSM_MAGIC) && grant->type == RSM_MSG_GRANT &&
	       !(grant->flags & RSM_GRANT_OWNER) == (len == sizeof(*grant));
}

bool rsm_auth_receive(struct rsm_conn *conn, const void *msg, u32 len)
{
	const struct rsm_owner_grant *og = msg;

	lockdep_assert_held(&conn->end_lock);
	if (!auth_valid(conn, msg, len)) {
		if (conn->ops->importer)
			rsm_conn_lost(conn, RSM_WHY_MESSAGE, -ECONNABORTED);
		else
			rsm_conn_report(conn, RSM_WHY_MESSAGE, -ECONNABORTED);
		return false;
	}
	if (!conn->ops->importer)
		return auth_proven(conn, msg);
	auth_granted(conn, msg, len == sizeof(*og) ? &og->owner : NULL);
	return true;
}
