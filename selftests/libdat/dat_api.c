// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dat_api.h"
#include "clock.h"

char *a_adapter(void)
{
	static DAT_PROVIDER_INFO info[8];
	DAT_PROVIDER_INFO *list[8];
	DAT_COUNT n = 0;
	int i;

	if (getenv("DAT_ADAPTER"))
		return getenv("DAT_ADAPTER");
	for (i = 0; i < 8; i++)
		list[i] = &info[i];
	dat_registry_list_providers(8, &n, list);
	return info[0].ia_name;
}

DAT_RETURN a_ia(DAT_IA_HANDLE *ia, DAT_EVD_HANDLE *async)
{
	*async = DAT_HANDLE_NULL;
	return dat_ia_open(a_adapter(), 8, async, ia);
}

DAT_RETURN a_mem(struct a_pair *p, size_t size, DAT_MEM_PRIV_FLAGS priv, struct a_mem *m)
{
	DAT_VLEN most = p->attr.max_lmr_block_size ?: size;
	DAT_REGION_DESCRIPTION region;

	m->size = size < most ? size : most;
	m->va = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	region.for_va = m->va;
	return dat_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region, m->size, p->pz, priv, &m->lmr,
			      &m->ctx, &m->rmr, NULL, NULL);
}

DAT_EP_ATTR a_attr(const struct a_pair *p)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = p->attr.max_message_size,
		.max_rdma_size = p->attr.max_rdma_size,
		.max_recv_dtos = 32, .max_request_dtos = 32, .max_recv_iov = 4,
		.max_request_iov = 4, .max_rdma_read_in = 4, .max_rdma_read_out = 4,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};

	return attr;
}

DAT_RETURN a_open(struct a_pair *p)
{
	DAT_EVD_FLAGS flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG |
				    DAT_EVD_RMR_BIND_FLAG;
	DAT_EP_ATTR attr;
	DAT_RETURN rc;
	int i;

	memset(p, 0, sizeof(*p));
	rc = a_ia(&p->ia, &p->async);
	if (rc == DAT_SUCCESS)
		rc = dat_ia_query(p->ia, NULL, DAT_IA_FIELD_ALL, &p->attr, 0, NULL);
	if (rc == DAT_SUCCESS)
		rc = dat_pz_create(p->ia, &p->pz);
	if (rc == DAT_SUCCESS)
		rc = a_mem(p, A_MEM, DAT_MEM_PRIV_ALL_FLAG, &p->mem);
	if (rc == DAT_SUCCESS)
		rc = dat_evd_create(p->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &p->cr);
	attr = a_attr(p);
	for (i = 0; i < 2 && rc == DAT_SUCCESS; i++) {
		rc = dat_evd_create(p->ia, 1024, DAT_HANDLE_NULL, flags, &p->evd[i]);
		if (rc == DAT_SUCCESS)
			rc = dat_ep_create(p->ia, p->pz, p->evd[i], p->evd[i], p->evd[i], &attr,
					   &p->ep[i]);
	}
	if (rc == DAT_SUCCESS)
		rc = dat_psp_create(p->ia, A_QUAL, p->cr, DAT_PSP_CONSUMER_FLAG, &p->psp);
	return rc;
}

DAT_RETURN a_connect(struct a_pair *p, DAT_EP_HANDLE active, DAT_EP_HANDLE passive,
		     DAT_EVD_HANDLE active_evd, DAT_EVD_HANDLE passive_evd)
{
	DAT_EVENT event;
	DAT_RETURN rc;

	rc = dat_ep_connect(active, p->attr.ia_address_ptr, A_QUAL, A_WAIT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (rc != DAT_SUCCESS)
		return rc;
	if (!a_event(p->cr, A_WAIT_US, &event))
		return DAT_TIMEOUT_EXPIRED;
	rc = dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, passive, 0, NULL);
	if (rc != DAT_SUCCESS)
		return rc;
	if (!a_event(active_evd, A_WAIT_US, &event) ||
	    event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED ||
	    !a_event(passive_evd, A_WAIT_US, &event) ||
	    event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return DAT_INTERNAL_ERROR;
	return DAT_SUCCESS;
}

void a_close(struct a_pair *p)
{
	dat_ia_close(p->ia, DAT_CLOSE_ABRUPT_FLAG);
	munmap(p->mem.va, p->mem.size);
}

int a_event(DAT_EVD_HANDLE evd, unsigned int us, DAT_EVENT *event)
{
	uint64_t end = now_us() + us;
	DAT_COUNT nmore;

	if (dat_evd_wait(evd, us, 1, event, &nmore) != DAT_SUCCESS)
		return 0;
	/* A wait whose wake-up was lost finds its event when its time is up. */
	return us < A_WAIT_US || now_us() < end;
}

int a_dto(DAT_EVD_HANDLE evd, uint64_t *cookie, uint64_t *len)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (!a_event(evd, A_WAIT_US, &event))
		return -1;
	if (event.event_number != DAT_DTO_COMPLETION_EVENT)
		return -(int)event.event_number;
	dto = &event.event_data.dto_completion_event_data;
	if (cookie)
		*cookie = dto->user_cookie.as_64;
	if (len)
		*len = dto->transfered_length;
	return (int)dto->status;
}

DAT_LMR_TRIPLET a_seg(const struct a_mem *m, size_t offset, size_t len)
{
	DAT_LMR_TRIPLET seg = {
		.lmr_context = m->ctx, .virtual_address = (uintptr_t)m->va + offset,
		.segment_length = len,
	};

	return seg;
}

DAT_RMR_TRIPLET a_rseg(const struct a_mem *m, size_t offset, size_t len)
{
	DAT_RMR_TRIPLET seg = {
		.rmr_context = m->rmr, .target_address = (uintptr_t)m->va + offset,
		.segment_length = len,
	};

	return seg;
}

DAT_DTO_COOKIE a_cookie(uint64_t n)
{
	DAT_DTO_COOKIE c = { .as_64 = n };

	return c;
}

static int log_fd = -1, saved_stderr = -1;

void a_log_begin(void)
{
	fflush(stderr);
	saved_stderr = dup(2);
	log_fd = memfd_create("log", 0);
	dup2(log_fd, 2);
}

const char *a_log_end(void)
{
	static char text[4096];
	ssize_t n;

	fflush(stderr);
	dup2(saved_stderr, 2);
	close(saved_stderr);
	n = pread(log_fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(log_fd);
	return text;
}
