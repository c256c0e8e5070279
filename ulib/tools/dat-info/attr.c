// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Prints the attributes of an adapter and its provider, according to a table of fields. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../common/tool.h"
#include "info.h"

enum kind { COUNT, NUMBER, BYTES, COUNT_BYTES, ADDRESS, BOOLEAN, STRING, CHOICE, FLAGS };

/* A value and its name.  In an array of words, the last name is NULL. */
struct word {
	uint64_t	value;
	const char	*name;
};

/*
 * struct field - a field of DAT_IA_ATTR or DAT_PROVIDER_ATTR
 * @name: name of the field in DAT
 * @unit: unit of the value
 * @kind: type of the field, which selects the output format
 * @offset: offset of the field in its structure
 * @words: names of the values, for CHOICE and FLAGS
 */
struct field {
	const char		*name;
	const char		*unit;
	enum kind		kind;
	size_t			offset;
	const struct word	*words;
};

static const struct word ownership[] = {
	{ DAT_IOV_CONSUMER, "consumer" }, { DAT_IOV_PROVIDER_NOMOD, "provider-unchanged" },
	{ DAT_IOV_PROVIDER_MOD, "provider-changed" }, { 0, NULL }
};

static const struct word mem_types[] = {
	{ DAT_MEM_TYPE_LMR, "lmr" }, { DAT_MEM_TYPE_SHARED_VIRTUAL, "shared-virtual" },
	{ 0, NULL }
};

static const struct word qos[] = {
	{ DAT_QOS_HIGH_THROUGHPUT, "high-throughput" }, { DAT_QOS_LOW_LATENCY, "low-latency" },
	{ DAT_QOS_ECONOMY, "economy" }, { DAT_QOS_PREMIUM, "premium" }, { 0, NULL }
};

static const struct word completion[] = {
	{ DAT_COMPLETION_SUPPRESS_FLAG, "suppress" },
	{ DAT_COMPLETION_SOLICITED_WAIT_FLAG, "solicited-wait" },
	{ DAT_COMPLETION_UNSIGNALLED_FLAG, "unsignalled" },
	{ DAT_COMPLETION_BARRIER_FENCE_FLAG, "barrier-fence" },
	{ DAT_COMPLETION_EVD_THRESHOLD_FLAG, "evd-threshold" }, { 0, NULL }
};

static const struct word creator[] = {
	{ DAT_PSP_CREATES_EP_NEVER, "never" }, { DAT_PSP_CREATES_EP_IFASKED, "if-asked" },
	{ DAT_PSP_CREATES_EP_ALWAYS, "always" }, { 0, NULL }
};

static const struct word pz_support[] = {
	{ DAT_PZ_UNIQUE, "unique" }, { DAT_PZ_SAME, "same" },
	{ DAT_PZ_SHAREABLE, "shareable" }, { 0, NULL }
};

static const struct word watermarks[] = {
	{ DAT_SRQ_WATERMARKS_LOW, "low" }, { DAT_SRQ_WATERMARKS_SOFT_HIGH, "soft-high" },
	{ DAT_SRQ_WATERMARKS_HARD_HIGH, "hard-high" }, { 0, NULL }
};

static const struct word srq_info[] = {
	{ DAT_SRQ_INFO_AVAILABLE, "available" }, { DAT_SRQ_INFO_OUTSTANDING, "outstanding" },
	{ 0, NULL }
};

static const struct word recv_info[] = {
	{ DAT_EP_RECV_INFO_ALLOCATED, "allocated" }, { DAT_EP_RECV_INFO_SPAN, "span" },
	{ 0, NULL }
};

#define IA(field, kind, unit)	{ #field, unit, kind, offsetof(DAT_IA_ATTR, field), NULL }
#define PROV(field, kind, unit)	{ #field, unit, kind, offsetof(DAT_PROVIDER_ATTR, field), NULL }
#define PROVW(field, kind, words) \
	{ #field, "", kind, offsetof(DAT_PROVIDER_ATTR, field), words }

static const struct field ia_fields[] = {
	IA(adapter_name, STRING, ""),
	IA(vendor_name, STRING, ""),
	IA(hardware_version_major, NUMBER, ""),
	IA(hardware_version_minor, NUMBER, ""),
	IA(firmware_version_major, NUMBER, ""),
	IA(firmware_version_minor, NUMBER, ""),
	IA(max_eps, COUNT, "endpoints"),
	IA(max_dto_per_ep, COUNT, "requests, and as many receives"),
	IA(max_rdma_read_per_ep_in, COUNT, "reads of a peer"),
	IA(max_rdma_read_per_ep_out, COUNT, "reads"),
	IA(max_evds, COUNT, "event dispatchers"),
	IA(max_evd_qlen, COUNT, "events"),
	IA(max_iov_segments_per_dto, COUNT, "segments"),
	IA(max_lmrs, COUNT, "registrations"),
	IA(max_lmr_block_size, BYTES, "bytes"),
	IA(max_lmr_virtual_address, ADDRESS, ""),
	IA(max_pzs, COUNT, "protection zones"),
	IA(max_message_size, BYTES, "bytes"),
	IA(max_rdma_size, BYTES, "bytes"),
	IA(max_rmrs, COUNT, "remote memory regions"),
	IA(max_rmr_target_address, ADDRESS, ""),
	IA(max_srqs, COUNT, "shared receive queues"),
	IA(max_ep_per_srq, COUNT, "endpoints"),
	IA(max_recv_per_srq, COUNT, "buffers"),
	IA(max_iov_segments_per_rdma_read, COUNT, "segments"),
	IA(max_iov_segments_per_rdma_write, COUNT, "segments"),
	IA(max_rdma_read_in, COUNT, "reads of peers, all endpoints"),
	IA(max_rdma_read_out, COUNT, "reads, all endpoints"),
	IA(max_rdma_read_per_ep_in_guaranteed, BOOLEAN, ""),
	IA(max_rdma_read_per_ep_out_guaranteed, BOOLEAN, ""),
};

static const struct field provider_fields[] = {
	PROV(provider_name, STRING, ""),
	PROV(provider_version_major, NUMBER, ""),
	PROV(provider_version_minor, NUMBER, ""),
	PROV(dapl_version_major, NUMBER, ""),
	PROV(dapl_version_minor, NUMBER, ""),
	PROVW(lmr_mem_types_supported, FLAGS, mem_types),
	PROVW(iov_ownership_on_return, CHOICE, ownership),
	PROVW(dat_qos_supported, FLAGS, qos),
	PROVW(completion_flags_supported, FLAGS, completion),
	PROV(is_thread_safe, BOOLEAN, ""),
	PROV(max_private_data_size, COUNT_BYTES, "bytes"),
	PROV(supports_multipath, BOOLEAN, ""),
	PROVW(ep_creator, CHOICE, creator),
	PROVW(pz_support, CHOICE, pz_support),
	PROV(optimal_buffer_alignment, COUNT_BYTES, "bytes"),
	PROV(srq_supported, BOOLEAN, ""),
	PROVW(srq_watermarks_supported, FLAGS, watermarks),
	PROV(srq_ep_pz_difference_supported, BOOLEAN, ""),
	PROVW(srq_info_supported, FLAGS, srq_info),
	PROVW(ep_recv_info_supported, FLAGS, recv_info),
	PROV(lmr_sync_req, BOOLEAN, ""),
	PROV(dto_async_return_guaranteed, BOOLEAN, ""),
	PROV(rdma_write_for_rdma_read_req, BOOLEAN, ""),
};

#define N(array)	(sizeof(array) / sizeof((array)[0]))

static uint64_t value_of(const struct field *f, const void *attr)
{
	const char *p = (const char *)attr + f->offset;
	uint32_t n;

	if (f->kind == BYTES || f->kind == ADDRESS)
		return *(const uint64_t *)p;
	memcpy(&n, p, sizeof(n));
	return f->kind == COUNT ? (uint64_t)(int64_t)(int32_t)n : n;
}

/* Returns 0 if all bits of the value are ones, which means that there is no known limit. */
static int has_limit(const struct field *f, uint64_t value)
{
	return f->kind == COUNT ? (int64_t)value >= 0 : value != UINT64_MAX;
}

static void number_text(const struct field *f, uint64_t value)
{
	const char *more = NULL;
	char buf[32];

	if (!has_limit(f, value)) {
		printf("no limit");
		return;
	}
	if (f->kind == BYTES)
		more = text_bytes(value, buf);
	printf("%" PRIu64 "%s%s", value, *f->unit ? " " : "", f->unit);
	if (more)
		printf(" (%s)", more);
}

static const char *word_of(const struct word *w, uint64_t value)
{
	while (w->name && w->value != value)
		w++;
	return w->name ? w->name : "unknown";
}

static void flags_text(const struct word *w, uint64_t value)
{
	const char *comma = "";

	if (!value)
		printf("none");
	for (; w->name; w++) {
		if (!(value & w->value))
			continue;
		printf("%s%s", comma, w->name);
		comma = ", ";
	}
}

static void field_text(const struct field *f, const void *attr)
{
	uint64_t value = f->kind == STRING ? 0 : value_of(f, attr);

	printf("  %-36s ", f->name);
	switch (f->kind) {
	case STRING:
		text_print(stdout, "%s", (const char *)attr + f->offset);
		break;
	case BOOLEAN:
		printf("%s", value ? "yes" : "no");
		break;
	case ADDRESS:
		printf("0x%" PRIx64, value);
		break;
	case CHOICE:
		printf("%s", word_of(f->words, value));
		break;
	case FLAGS:
		flags_text(f->words, value);
		break;
	default:
		number_text(f, value);
	}
	putchar('\n');
}

static void flags_json(const struct field *f, uint64_t value)
{
	const struct word *w;

	json_open(f->name, '[');
	for (w = f->words; w->name; w++)
		if (value & w->value)
			json_str(NULL, w->name);
	json_close(']');
}

static void field_json(const struct field *f, const void *attr)
{
	uint64_t value = f->kind == STRING ? 0 : value_of(f, attr);
	char buf[32];

	switch (f->kind) {
	case STRING:
		json_str(f->name, (const char *)attr + f->offset);
		break;
	case BOOLEAN:
		json_bool(f->name, value != 0);
		break;
	case ADDRESS:
		/*
		 * Print the address as a string, because most JSON parsers lose bits of a 64-bit
		 * number.
		 */
		snprintf(buf, sizeof(buf), "0x%" PRIx64, value);
		json_str(f->name, buf);
		break;
	case CHOICE:
		json_str(f->name, word_of(f->words, value));
		break;
	case FLAGS:
		flags_json(f, value);
		break;
	default:
		if (has_limit(f, value))
			json_num(f->name, value);
		else
			json_null(f->name);
	}
}

static void named_attrs(const char *key, const DAT_NAMED_ATTR *attr, DAT_COUNT n, int json)
{
	DAT_COUNT i;

	if (json)
		json_open(key, '[');
	for (i = 0; i < n; i++) {
		if (!json) {
			text_print(stdout, "  %-36s %s\n", attr[i].name, attr[i].value);
			continue;
		}
		json_open(NULL, '{');
		json_str("name", attr[i].name);
		json_str("value", attr[i].value);
		json_close('}');
	}
	if (json)
		json_close(']');
}

static const char *const streams[] = {
	"software", "cr", "dto", "connection", "rmr-bind", "async"
};

static void merging_text(const DAT_PROVIDER_ATTR *attr)
{
	int i, j, n = 0;

	printf("  %-36s ", "evd_stream_merging_supported");
	for (i = 0; i < 6; i++) {
		for (j = 0; j < i; j++) {
			if (attr->evd_stream_merging_supported[i][j])
				continue;
			printf("%s%s+%s", n++ ? " " : "all but ", streams[i], streams[j]);
		}
	}
	printf("%s\n", n ? "" : "all");
}

/* For each kind of stream, print the streams with which it can share an EVD. */
static void merging_json(const DAT_PROVIDER_ATTR *attr)
{
	int i, j;

	json_open("evd_stream_merging_supported", '{');
	for (i = 0; i < 6; i++) {
		json_open(streams[i], '[');
		for (j = 0; j < 6; j++)
			if (attr->evd_stream_merging_supported[i][j])
				json_str(NULL, streams[j]);
		json_close(']');
	}
	json_close('}');
}

static void all_text(const DAT_IA_ATTR *ia, const DAT_PROVIDER_ATTR *provider)
{
	char addr[INFO_ADDR_SIZE] = "";
	size_t i;

	printf("\n  Adapter\n");
	for (i = 0; i < N(ia_fields); i++)
		field_text(&ia_fields[i], ia);
	if (ia->ia_address_ptr)
		text_address(ia->ia_address_ptr, addr);
	printf("  %-36s %s\n", "ia_address", addr[0] ? addr : "none");
	named_attrs("transport_attr", ia->transport_attr, ia->num_transport_attr, 0);
	named_attrs("vendor_attr", ia->vendor_attr, ia->num_vendor_attr, 0);
	printf("\n  Provider\n");
	for (i = 0; i < N(provider_fields); i++)
		field_text(&provider_fields[i], provider);
	merging_text(provider);
	named_attrs("provider_specific_attr", provider->provider_specific_attr,
		    provider->num_provider_specific_attr, 0);
}

static void all_json(const DAT_IA_ATTR *ia, const DAT_PROVIDER_ATTR *provider)
{
	char addr[INFO_ADDR_SIZE] = "";
	size_t i;

	if (ia->ia_address_ptr)
		text_address(ia->ia_address_ptr, addr);
	json_open("ia", '{');
	for (i = 0; i < N(ia_fields); i++)
		field_json(&ia_fields[i], ia);
	json_str("ia_address", addr);
	named_attrs("transport_attr", ia->transport_attr, ia->num_transport_attr, 1);
	named_attrs("vendor_attr", ia->vendor_attr, ia->num_vendor_attr, 1);
	json_close('}');
	json_open("provider", '{');
	for (i = 0; i < N(provider_fields); i++)
		field_json(&provider_fields[i], provider);
	merging_json(provider);
	named_attrs("provider_specific_attr", provider->provider_specific_attr,
		    provider->num_provider_specific_attr, 1);
	json_close('}');
}

/*
 * Open @name with the version and the thread safety of @line.  Without a line, use this library's
 * version, with thread safety.
 */
static DAT_RETURN open_as(const char *name, const struct conf_line *line, DAT_IA_HANDLE *ia)
{
	DAT_UINT32 major = line ? line->major : DAT_VERSION_MAJOR;
	DAT_UINT32 minor = line ? line->minor : DAT_VERSION_MINOR;
	DAT_BOOLEAN safe = !line || line->threadsafe ? DAT_TRUE : DAT_FALSE;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_openv((DAT_NAME_PTR)name, 1, &async, ia, major, minor, safe);
}

static int failed(const char *what, const char *name, DAT_RETURN rc, int json)
{
	tool_warn("cannot %s '%s': %s", what, name, tool_strerror(rc));
	if (json)
		json_str("error", tool_strerror(rc));
	return -1;
}

int attr_show(const char *name, const struct conf_line *line, int json)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;
	DAT_IA_HANDLE ia;
	DAT_RETURN rc;
	int ret = 0;

	rc = open_as(name, line, &ia);
	if (rc != DAT_SUCCESS)
		return failed("open", name, rc, json);
	rc = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider);
	if (rc != DAT_SUCCESS)
		ret = failed("query", name, rc, json);
	else if (json)
		all_json(&attr, &provider);
	else
		all_text(&attr, &provider);
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}
