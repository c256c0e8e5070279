// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Documentation/flows.txt lists the files of the modules that a send, a connect and a putv of RSM
 * cross, all of them and no other.  The function tracer of the kernel records which functions run.
 * Peers of endpoints use verbs, so that all functions belong to one end.
 */
#include "rsm_test.h"
#include "dat_api.h"
#include "tracefs.h"

#include <arpa/inet.h>
#include <libgen.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define VERBS_QUAL	(A_QUAL + 3)
#define MSG		256
#define RUNS		3
#define MAX_FUNCTIONS	4096

/* A function of the modules. */
struct function {
	char	name[48];
	char	file[48];
	int	runs;		/* number of runs of the flow in which it was called */
	int	first;		/* position of its first call among those of all functions */
	int	listed;		/* flows.txt lists its file */
};

/* Functions that the tracer has recorded.  A function that is not in every run is other work. */
struct flow {
	struct function	f[MAX_FUNCTIONS];
	int		n;
	int		runs;
	int		calls;
};

/* --- recording ------------------------------------------------------------------ */

/* Open a file in the directory of this program. */
static FILE *beside(const char *name)
{
	char path[4096] = "", file[4200];

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return NULL;
	snprintf(file, sizeof(file), "%s/%s", dirname(path), name);
	return fopen(file, "r");
}

/* Read the functions of both modules and their files.  Returns the number of functions. */
static int read_functions(struct flow *flow)
{
	FILE *list = beside("functions.txt");

	while (list && flow->n < MAX_FUNCTIONS &&
	       fscanf(list, "%47s %47s", flow->f[flow->n].name, flow->f[flow->n].file) == 2)
		flow->n++;
	if (list)
		fclose(list);
	return flow->n;
}

static struct function *function_of(struct flow *flow, const char *name)
{
	int i;

	for (i = 0; i < flow->n; i++)
		if (!strcmp(flow->f[i].name, name))
			return &flow->f[i];
	return NULL;
}

/* functions.txt lacks names that both modules have: they do not tell the file. */
static void note_call(struct flow *flow, const char *name)
{
	struct function *f = function_of(flow, name);

	if (!f)
		return;
	if (!f->first)
		f->first = ++flow->calls;
	if (f->runs == flow->runs - 1)
		f->runs++;
}

/* A line of the trace ends in "NAME <-CALLER".  The compiler may append ".part.0" to NAME. */
static void read_run(struct flow *flow)
{
	FILE *trace = fopen(TRACE_DIR "/trace", "r");
	char line[512], name[64], *end;

	flow->runs++;
	while (trace && fgets(line, sizeof(line), trace)) {
		end = strstr(line, " <-");
		if (line[0] == '#' || !end)
			continue;
		*end = 0;
		if (sscanf(strrchr(line, ' '), " %63[^. ]", name) == 1)
			note_call(flow, name);
	}
	if (trace)
		fclose(trace);
	trace_put("trace", "");
}

/*
 * Trace the functions of both modules.  Returns 0, -ENODEV if the kernel cannot trace functions, or
 * another negative errno.
 */
static int tracer_start(void)
{
	int ret;

	trace_start();
	if (access(TRACE_DIR "/set_ftrace_filter", W_OK))
		return -ENODEV;
	ret = trace_put("tracing_on", "0");
	if (!ret)
		ret = trace_put("set_ftrace_filter", ":mod:dat*\n");
	return ret ? ret : trace_put("current_tracer", "function");
}

static void tracer_end(void)
{
	trace_put("current_tracer", "nop");
	trace_end();
}

/* Returns the number of calls that the tracer has recorded. */
static int recorded(void)
{
	FILE *trace = fopen(TRACE_DIR "/trace", "r");
	char line[512];
	int calls = 0;

	while (trace && fgets(line, sizeof(line), trace))
		calls += line[0] != '#';
	if (trace)
		fclose(trace);
	return calls;
}

/*
 * Wait until no function of the modules has run for 100 ms, 20 s at most.  The end of an earlier
 * connection polls more often than that, and a slow machine may take seconds for it.
 */
static void settle(void)
{
	int i, last, now = recorded();

	for (i = 0; i < 200; i++) {
		last = now;
		usleep(100000);
		now = recorded();
		if (now == last)
			return;
	}
}

static void run_begin(void)
{
	trace_put("tracing_on", "1");
	settle();
	trace_put("trace", "");
}

/* The interrupt that reports a completion goes on after the process has seen the event. */
static void run_end(struct flow *flow)
{
	settle();
	trace_put("tracing_on", "0");
	read_run(flow);
}

/* --- comparing ------------------------------------------------------------------ */

static void mark_listed(struct flow *flow, const char *file)
{
	int i;

	for (i = 0; i < flow->n; i++)
		if (!strcmp(flow->f[i].file, file))
			flow->f[i].listed = 1;
}

/* Returns the first function of a file that is not listed, or NULL. */
static struct function *unlisted(struct flow *flow)
{
	struct function *first = NULL;
	int i;

	for (i = 0; i < flow->n; i++)
		if (flow->f[i].runs == flow->runs && !flow->f[i].listed &&
		    (!first || flow->f[i].first < first->first))
			first = &flow->f[i];
	return first;
}

/* Compare with the lines of flows.txt for the flow @name.  Returns the number of differences. */
static int differences(struct flow *flow, const char *name)
{
	char line[256], word[16], file[48], function[48], sometimes[16];
	FILE *list = beside("flows.txt");
	struct function *f;
	int n, bad = 0;

	while (list && fgets(line, sizeof(line), list)) {
		n = sscanf(line, "%15s %47s %47s %15s", word, file, function, sometimes);
		if (n < 3 || strcmp(word, name))
			continue;
		mark_listed(flow, file);
		f = function_of(flow, function);
		if (!f || strcmp(f->file, file) || (n == 3 && f->runs != flow->runs))
			bad += !!fprintf(stderr, "# not called: %s", line);
	}
	if (list)
		fclose(list);
	for (; (f = unlisted(flow)); mark_listed(flow, f->file))
		bad += !!fprintf(stderr, "# not listed: %s %s %s\n", name, f->file, f->name);
	return bad;
}

/* --- the peer on verbs, a process of its own ------------------------------------ */

/* Accept a connection, take its messages, and end it when the other end does.  Returns 0 or -1. */
static int serve_one(struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	struct rdma_cm_id *id;
	struct pollfd end;
	struct ibv_mr *mr;
	char in[MSG];
	int i;

	if (rdma_get_request(listener, &id))
		return -1;
	mr = rdma_reg_msgs(id, in, MSG);
	for (i = 0; mr && i <= RUNS; i++)
		if (rdma_post_recv(id, NULL, in, MSG, mr))
			return -1;
	if (!mr || rdma_accept(id, &param))
		return -1;
	end = (struct pollfd) { .fd = id->channel->fd, .events = POLLIN };
	if (poll(&end, 1, -1) != 1 || rdma_disconnect(id) || rdma_dereg_mr(mr))
		return -1;
	rdma_destroy_ep(id);
	return 0;
}

/* Write to @ready when the server listens.  Then serve one connection after the other. */
static int verbs_server(const char *host, int ready)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_PASSIVE };
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = RUNS + 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct rdma_cm_id *listener;
	struct rdma_addrinfo *res;
	char service[8];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(service, sizeof(service), "%d", VERBS_QUAL);
	if (rdma_getaddrinfo(host, service, &hints, &res) ||
	    rdma_create_ep(&listener, res, NULL, &attr) || rdma_listen(listener, 1))
		return 1;
	write(ready, "y", 1);
	while (!serve_one(listener))
		;
	return 1;
}

FIXTURE(flow) {
	struct a_pair	p;
	struct flow	*flow;
	int		traced;
	pid_t		peer;
};

FIXTURE_SETUP(flow)
{
	char host[INET_ADDRSTRLEN], c;
	int ready[2];

	self->flow = calloc(1, sizeof(*self->flow));
	self->peer = 0;
	ASSERT_LT(1000, read_functions(self->flow));
	self->traced = tracer_start();
	ASSERT_TRUE(!self->traced || self->traced == -ENODEV) TH_LOG("%d", self->traced);
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	ASSERT_EQ(AF_INET, self->p.attr.ia_address_ptr->sa_family);
	inet_ntop(AF_INET, &((struct sockaddr_in *)self->p.attr.ia_address_ptr)->sin_addr, host,
		  sizeof(host));
	ASSERT_EQ(0, pipe(ready));
	self->peer = fork();
	if (!self->peer)
		_exit(verbs_server(host, ready[1]));
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
}

FIXTURE_TEARDOWN(flow)
{
	tracer_end();
	if (self->peer > 0) {
		kill(self->peer, SIGKILL);
		waitpid(self->peer, NULL, 0);
	}
	a_close(&self->p);
	free(self->flow);
}

/* Poll an EVD, which does not enter the kernel.  Returns the number of the next event, or 0. */
static DAT_EVENT_NUMBER poll_event(DAT_EVD_HANDLE evd)
{
	uint64_t end = now_ms() + R_WAIT_MS;
	DAT_EVENT event;

	while (now_ms() < end)
		if (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
			return event.event_number;
	return 0;
}

static DAT_EVENT_NUMBER connected(struct a_pair *p)
{
	if (dat_ep_connect(p->ep[0], p->attr.ia_address_ptr, VERBS_QUAL, A_WAIT_US, 0, NULL,
			   DAT_QOS_BEST_EFFORT, 0) != DAT_SUCCESS)
		return 0;
	return poll_event(p->evd[0]);
}

/* Disconnect, and make the endpoint ready for another connect. */
static DAT_RETURN disconnected(struct a_pair *p)
{
	if (dat_ep_disconnect(p->ep[0], DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS ||
	    poll_event(p->evd[0]) != DAT_CONNECTION_EVENT_DISCONNECTED)
		return DAT_INVALID_STATE;
	return dat_ep_reset(p->ep[0]);
}

static DAT_EVENT_NUMBER sent(struct a_pair *p)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, MSG);

	if (dat_ep_post_send(p->ep[0], 1, &seg, a_cookie(0), 0) != DAT_SUCCESS)
		return 0;
	return poll_event(p->evd[0]);
}

TEST_F(flow, a_connect_crosses_the_listed_files)
{
	int i;

	if (self->traced)
		SKIP(return, "the kernel has no function tracer");
	for (i = 0; i < RUNS; i++) {
		run_begin();
		ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, connected(&self->p));
		run_end(self->flow);
		ASSERT_EQ(DAT_SUCCESS, disconnected(&self->p));
	}
	EXPECT_EQ(0, differences(self->flow, "connect"));
}

TEST_F(flow, a_send_crosses_the_listed_files)
{
	int i;

	if (self->traced)
		SKIP(return, "the kernel has no function tracer");
	ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, connected(&self->p));
	ASSERT_EQ(DAT_DTO_COMPLETION_EVENT, sent(&self->p));
	for (i = 0; i < RUNS; i++) {
		run_begin();
		ASSERT_EQ(DAT_DTO_COMPLETION_EVENT, sent(&self->p));
		run_end(self->flow);
	}
	EXPECT_EQ(0, differences(self->flow, "send"));
}

/* --- RSM ------------------------------------------------------------------------ */

FIXTURE(rsm_flow) {
	struct r_pair	p;
	struct flow	*flow;
	int		traced;
};

FIXTURE_SETUP(rsm_flow)
{
	self->flow = calloc(1, sizeof(*self->flow));
	ASSERT_LT(1000, read_functions(self->flow));
	self->traced = tracer_start();
	ASSERT_TRUE(!self->traced || self->traced == -ENODEV) TH_LOG("%d", self->traced);
	ASSERT_EQ(RSM_SUCCESS, r_pair(&self->p));
}

FIXTURE_TEARDOWN(rsm_flow)
{
	tracer_end();
	r_close(&self->p);
	free(self->flow);
}

TEST_F(rsm_flow, a_putv_crosses_the_listed_files)
{
	static char from[MSG];
	rsm_iovec_t v = {
		.io_type = RSM_VA_TYPE, .local.vaddr = from, .transfer_length = MSG,
	};
	rsm_scat_gath_t sg = {
		.io_request_count = 1, .remote_handle = self->p.imp, .iovec = &v,
	};
	int i;

	if (self->traced)
		SKIP(return, "the kernel has no function tracer");
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&sg));
	for (i = 0; i < RUNS; i++) {
		run_begin();
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&sg));
		run_end(self->flow);
	}
	EXPECT_EQ(0, differences(self->flow, "putv"));
}

TEST_HARNESS_MAIN
