// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * rsm-scatter: a program exports memory, and other programs scatter files over this memory.
 *
 *	exporter			importer I of N
 *	create and publish a segment
 *	print NODE:ID		   ──▶	connect
 *				   ◀──	putv: pages of the file, each to a slot
 *				   ──▶	getv: all pages back, compare
 *				   ◀──	putv: length, with a signal
 *	wait for N signals
 *	gather the files, write them out
 *
 * The exporter makes no call between publishing the segment and waiting for the signals.  A slot is
 * a page of the segment.  Importer I owns the slots whose number is I modulo N.  It writes the
 * pages of its file to its slots in a scattered order, and the length of its file to its last slot.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rsmapi.h>

#define STRIDE		40503	/* an odd factor maps page numbers to different slots */
#define ANSWER_MS	300000	/* exporter's timeout for a file, in milliseconds */

static const char usage_text[] =
	"usage: rsm-scatter --export [OPTION]... PREFIX     write what comes to PREFIX.0, ...\n"
	"       rsm-scatter --import NODE:ID [OPTION]... FILE\n"
	"  -c, --controller NAME  loopback, rdma0, ... (loopback)\n"
	"  -s, --segment ID       to publish, instead of one that the system chooses\n"
	"  -p, --pages N          of the segment for each importer, a power of two (4096)\n"
	"  -n, --importers N      1 to 64 (2)\n"
	"  -w, --which I          which importer this is, 0 to N - 1 (0)\n"
	"  -h, --help             this text\n"
	"Exporter and importers have to agree on --pages and --importers.\n"
	"Exit status: 0 all is well, 1 an error or wrong bytes, 2 wrong usage.\n";

/*
 * struct scatter - data that exporter and importers have in common
 * @controller: name of the controller
 * @ctlr: handle of the controller
 * @slots: number of slots of each importer
 * @importers: number of importers
 * @which: number of this importer (importer only)
 * @node: node of the segment (importer only)
 * @id: id of the segment; if 0, the system chooses an id for the exporter
 * @page: size of a slot in bytes
 */
struct scatter {
	char				*controller;
	rsmapi_controller_handle_t	ctlr;
	unsigned long			slots;
	unsigned long			importers;
	unsigned long			which;
	rsm_node_id_t			node;
	rsm_memseg_id_t			id;
	size_t				page;
};

/*
 * Each page of an importer's file has a slot in the segment.  Returns the offset of the slot in the
 * segment, for page @i of importer @which.  The slot of the last page number contains the length of
 * the file instead of a page.
 */
static size_t slot_offset(const struct scatter *s, unsigned long which, unsigned long i)
{
	unsigned long slot = i == s->slots - 1 ? i : i * STRIDE % s->slots;

	/*
	 * The last slot is reserved for the length.  A page that STRIDE maps to the last slot goes
	 * to the slot to which STRIDE would map the length.
	 */
	if (slot == s->slots - 1 && i != s->slots - 1)
		slot = (s->slots - 1) * STRIDE % s->slots;
	return (which + slot * s->importers) * s->page;
}

static void __attribute__((noreturn)) die(const char *what, const char *why)
{
	fprintf(stderr, "rsm-scatter: %s: %s\n", what, why);
	exit(1);
}

/*
 * Print the error @ret and exit, unless @ret is RSM_SUCCESS.  RSM functions return their error and
 * do not set errno.
 */
static void check(int ret, const char *what)
{
	static const struct { int ret; const char *why; } known[] = {
		{ RSMERR_CTLR_NOT_PRESENT, "there is no such controller, or no driver: see rsm-nodes status" },
		{ RSMERR_SEG_NOT_PUBLISHED, "no such segment is published on this controller" },
		{ RSMERR_SEGID_IN_USE, "another segment of this node has this id" },
		{ RSMERR_RESERVED_SEGID, "ids that one may choose are 0x400000 to 0x7fffffff" },
		{ RSMERR_BAD_CONF, "no cluster key, or the other node has another one: see rsm-nodes key" },
		{ RSMERR_REMOTE_NODE_UNREACHABLE, "that node does not answer: see rsm-nodes status" },
		{ RSMERR_PERM_DENIED, "the exporter does not allow it" },
		{ RSMERR_BAD_LENGTH, "the segment is smaller: --pages differs" },
		{ RSMERR_INSUFFICIENT_MEM, "not enough memory, or too little may be locked" },
		{ RSMERR_CONN_ABORTED, "the exporter has gone" },
		{ RSMERR_TIMEOUT, "nobody has come in time" },
	};
	char text[32];
	unsigned int i;

	if (!ret)
		return;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].ret == ret)
			die(what, known[i].why);
	snprintf(text, sizeof(text), "RSMERR number %d", ret);
	die(what, text);
}

static rsm_node_id_t own_node(void)
{
	rsm_topology_t *t;
	rsm_node_id_t node;

	check(rsm_get_interconnect_topology(&t), "topology");
	node = t->topology_hdr.local_nodeid;
	rsm_free_interconnect_topology(t);
	return node;
}

/* The exporter. */

/* Write the file that importer @which has put into the segment. */
static void write_file(const struct scatter *s, const char *mem, const char *prefix,
		       unsigned long which)
{
	uint64_t length = *(const uint64_t *)(mem + slot_offset(s, which, s->slots - 1));
	char name[4096];
	unsigned long i;
	size_t n;
	FILE *f;

	if (length > (s->slots - 1) * s->page)
		die("an importer", "its file is longer than its slots");
	snprintf(name, sizeof(name), "%s.%lu", prefix, which);
	f = fopen(name, "w");
	if (!f)
		die(name, strerror(errno));
	for (i = 0; i * s->page < length; i++) {
		n = length - i * s->page;
		fwrite(mem + slot_offset(s, which, i), 1, n < s->page ? n : s->page, f);
	}
	if (ferror(f) || fclose(f))
		die(name, "it can't be written");
	printf("%s: %llu bytes\n", name, (unsigned long long)length);
}

static int do_export(struct scatter *s, const char *prefix)
{
	size_t size = s->slots * s->importers * s->page;
	rsm_memseg_export_handle_t seg;
	unsigned long i;
	char *mem;

	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		die("memory", strerror(errno));
	check(rsm_memseg_export_create(s->ctlr, &seg, mem, size, 0), "create");
	/* Without an access list, the umask determines the permissions of the importers. */
	check(rsm_memseg_export_publish(seg, &s->id, NULL, 0), "publish");
	printf("%u:%#x\n", own_node(), s->id);
	fflush(stdout);
	for (i = 0; i < s->importers; i++)
		check(rsm_intr_signal_wait(seg, ANSWER_MS), "waiting");
	/* After the unpublish, no importer can write to the segment. */
	check(rsm_memseg_export_unpublish(seg), "unpublish");
	for (i = 0; i < s->importers; i++)
		write_file(s, mem, prefix, i);
	check(rsm_memseg_export_destroy(seg), "destroy");
	return 0;
}

/* An importer. */

/*
 * struct file - a file to scatter
 * @bytes: mapped content of the file
 * @length: length of the file in bytes
 * @vectors: number of vectors transferred
 */
struct file {
	char		*bytes;
	uint64_t	length;
	unsigned long	vectors;
};

static void map_file(const struct scatter *s, const char *name, struct file *f)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die(name, strerror(errno));
	f->length = (uint64_t)st.st_size;
	if (!f->length || f->length > (s->slots - 1) * s->page)
		die(name, "it is empty, or too long for the slots: see --pages");
	f->bytes = mmap(NULL, f->length, PROT_READ, MAP_PRIVATE, fd, 0);
	if (f->bytes == MAP_FAILED)
		die(name, strerror(errno));
	close(fd);
}

/*
 * Fill in the entries of a vector.  The entries transfer pages between @local and their slots,
 * starting with page @first.  Returns the number of entries.
 */
static unsigned long list_pages(const struct scatter *s, const struct file *f, char *local,
				unsigned long first, rsm_iovec_t *v)
{
	unsigned long k;
	uint64_t at;

	for (k = 0; k < RSM_MAX_SGIOREQS; k++) {
		at = (first + k) * s->page;
		if (at >= f->length)
			break;
		v[k] = (rsm_iovec_t) {
			.io_type = RSM_VA_TYPE,
			.local.vaddr = local,
			.local_offset = at,
			.remote_offset = slot_offset(s, s->which, first + k),
			.transfer_length = f->length - at < s->page ? f->length - at : s->page,
		};
	}
	return k;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * Transfer all pages.  Each call transfers as many pages as fit into a vector.  Returns the
 * duration in seconds.
 */
static double move(const struct scatter *s, struct file *f, rsm_memseg_import_handle_t seg,
		   char *local, int (*call)(rsm_scat_gath_t *sg))
{
	rsm_iovec_t v[RSM_MAX_SGIOREQS];
	rsm_scat_gath_t sg = { .remote_handle = seg, .iovec = v };
	unsigned long first, n;
	double start = now();

	for (first = 0; first * s->page < f->length; first += n) {
		n = list_pages(s, f, local, first, v);
		sg.io_request_count = n;
		check(call(&sg), "vector");
		f->vectors++;
	}
	return now() - start;
}

/*
 * Put the length of the file, with a signal.  The signal is posted after all data, so the exporter
 * sees the data when the signal wakes it.
 */
static void tell(const struct scatter *s, struct file *f, rsm_memseg_import_handle_t seg)
{
	rsm_iovec_t v = {
		.io_type = RSM_VA_TYPE,
		.local.vaddr = (caddr_t)&f->length,
		.remote_offset = slot_offset(s, s->which, s->slots - 1),
		.transfer_length = sizeof(f->length),
	};
	rsm_scat_gath_t sg = {
		.io_request_count = 1,
		.flags = RSM_IMPLICIT_SIGPOST,
		.remote_handle = seg,
		.iovec = &v,
	};

	check(rsm_memseg_import_putv(&sg), "the last vector");
}

static int do_import(struct scatter *s, const char *name)
{
	rsm_memseg_import_handle_t seg;
	struct file f = { .vectors = 0 };
	double put, got;
	char *back;

	map_file(s, name, &f);
	back = malloc(f.length);
	if (!back)
		die("memory", strerror(errno));
	check(rsm_memseg_import_connect(s->ctlr, s->node, s->id, RSM_PERM_RDWR, &seg), "connect");
	put = move(s, &f, seg, f.bytes, rsm_memseg_import_putv);
	got = move(s, &f, seg, back, rsm_memseg_import_getv);
	if (memcmp(back, f.bytes, f.length))
		die(name, "what came back is not what was put");
	tell(s, &f, seg);
	printf("%s: %llu bytes put in %.3f s and got back in %.3f s, equal, in %lu vectors\n", name,
	       (unsigned long long)f.length, put, got, f.vectors);
	check(rsm_memseg_import_disconnect(seg), "disconnect");
	return 0;
}

/* The command line. */

static void __attribute__((noreturn)) usage(int status)
{
	fputs(usage_text, status ? stderr : stdout);
	exit(status);
}

static unsigned long number(const char *text, unsigned long min, unsigned long max, char stop)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (end == text || *end != stop || *text == '-' || n < min || n > max) {
		fprintf(stderr, "rsm-scatter: '%s' is not what is wanted there\n", text);
		usage(2);
	}
	return n;
}

static void where(struct scatter *s, const char *text)
{
	const char *colon = strchr(text, ':');

	s->node = (rsm_node_id_t)number(text, 0, RSM_MAX_NODE, ':');
	s->id = (rsm_memseg_id_t)number(colon + 1, 1, UINT32_MAX, '\0');
}

static const struct option options[] = {
	{ "export",	no_argument,		NULL, 'e' },
	{ "import",	required_argument,	NULL, 'i' },
	{ "controller",	required_argument,	NULL, 'c' },
	{ "segment",	required_argument,	NULL, 's' },
	{ "pages",	required_argument,	NULL, 'p' },
	{ "importers",	required_argument,	NULL, 'n' },
	{ "which",	required_argument,	NULL, 'w' },
	{ "help",	no_argument,		NULL, 'h' },
	{ NULL,		0,			NULL, 0 },
};

/* Parse the command line.  Returns 'e' for the exporter, or 'i' for an importer. */
static int parse(int argc, char **argv, struct scatter *s)
{
	int c, side = 0;

	while ((c = getopt_long(argc, argv, "ei:c:s:p:n:w:h", options, NULL)) != -1) {
		if (c == 'e' || c == 'i')
			side = c;
		if (c == 'i')
			where(s, optarg);
		else if (c == 'c')
			s->controller = optarg;
		else if (c == 's')
			s->id = number(optarg, 1, UINT32_MAX, '\0');
		else if (c == 'p')
			s->slots = number(optarg, 2, 1UL << 24, '\0');
		else if (c == 'n')
			s->importers = number(optarg, 1, 64, '\0');
		else if (c == 'w')
			s->which = number(optarg, 0, 63, '\0');
		else if (c != 'e')
			usage(c == 'h' ? 0 : 2);
	}
	if (!side || optind != argc - 1 || s->which >= s->importers || s->slots & (s->slots - 1))
		usage(2);
	return side;
}

int main(int argc, char **argv)
{
	struct scatter s = { .controller = "loopback", .slots = 4096, .importers = 2 };
	int side = parse(argc, argv, &s);

	s.page = (size_t)sysconf(_SC_PAGESIZE);
	check(rsm_get_controller(s.controller, &s.ctlr), s.controller);
	return side == 'e' ? do_export(&s, argv[optind]) : do_import(&s, argv[optind]);
}
