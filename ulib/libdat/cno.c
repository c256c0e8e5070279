// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Consumer notification objects.
 *
 * Each CNO with an agent has a thread, which calls the agents of the CNO.  The thread is started
 * when the first agent is set, and runs until the CNO is freed.  The driver counts triggers, so no
 * trigger is lost while the thread is not waiting.
 */
#include <errno.h>
#include <signal.h>

#include "../common/cancel.h"
#include "foreign.h"
#include "libdat.h"

#define BAD_CNO	DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO)

/* Detach and return the agent, but only if the agent was set before trigger number @generation. */
static DAT_OS_WAIT_PROXY_AGENT cno_claim_agent(struct udat_cno *cno, uint32_t generation)
{
	DAT_OS_WAIT_PROXY_AGENT none = DAT_OS_WAIT_PROXY_AGENT_NULL, agent = none;

	pthread_mutex_lock(&cno->lock);
	if ((int32_t)(generation - cno->armed) > 0) {
		agent = cno->agent;
		cno->agent = none;
	}
	pthread_mutex_unlock(&cno->lock);
	return agent;
}

static void cno_run_agent(struct udat_cno *cno, uint32_t generation, struct udat_evd *evd)
{
	DAT_OS_WAIT_PROXY_AGENT agent = cno_claim_agent(cno, generation);

	if (agent.proxy_agent_func)
		agent.proxy_agent_func(agent.instance_data, evd);
}

/*
 * Flag of the current thread: an agent that this thread called has freed the CNO, so the thread
 * must not access the CNO again.
 */
static __thread int cno_gone;

static void *cno_thread(void *arg)
{
	struct udat_cno *cno = arg;
	struct dat_cno_wait wait = {
		.size = sizeof(wait), .id = cno->obj.id, .flags = DAT_CNO_WATCH,
		.generation = cno->armed, .deadline_ns = DAT_WAIT_FOREVER,
	};
	int ret;

	do {
		ret = du_file_ioctl(&cno->obj.ia->file, DAT_IOC_CNO_WAIT, &wait);
		if (!ret)
			cno_run_agent(cno, wait.generation,
				      udat_evd((void *)(uintptr_t)wait.evd));
		if (cno_gone)
			return NULL;
	} while (!ret || ret == -EINTR);
	/* The CNO has been freed.  If an agent is still set, call it, and pass no EVD. */
	cno_run_agent(cno, cno->armed + 1, NULL);
	return NULL;
}

/*
 * Start the thread.  All signals are blocked in the new thread, so that the program's own threads
 * handle them.
 */
static int cno_start_thread(struct udat_cno *cno)
{
	sigset_t all, old;
	int ret;

	udat_locks_on(cno->obj.ia);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&cno->thread, NULL, cno_thread, cno);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	cno->has_thread = !ret;
	return -ret;
}

/* Wait for the thread.  The thread ends because the driver has freed the CNO. */
void udat_cno_end(struct udat_cno *cno)
{
	if (cno->has_thread) {
		if (pthread_equal(cno->thread, pthread_self())) {
			pthread_detach(cno->thread);
			cno_gone = 1;
		} else {
			du_join(cno->thread);
		}
	}
	cno->has_thread = 0;
}

static int agent_bad(const DAT_OS_WAIT_PROXY_AGENT *agent)
{
	return !agent->proxy_agent_func && agent->instance_data;
}

static DAT_RETURN cno_set_agent(struct udat_cno *cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dat_cno_query arg = { .size = sizeof(arg), .id = cno->obj.id };
	DAT_OS_WAIT_PROXY_AGENT former;
	int ret;

	ret = du_file_ioctl(&cno->obj.ia->file, DAT_IOC_CNO_QUERY, &arg);
	if (ret)
		return dat_err_from_errno(-ret);
	pthread_mutex_lock(&cno->lock);
	former = cno->agent;
	cno->armed = arg.generation;
	cno->agent = agent;
	if (agent.proxy_agent_func && !cno->has_thread)
		ret = cno_start_thread(cno);
	/*
	 * If the thread could not be started, set the old agent again, because no thread would call
	 * the new agent.
	 */
	if (ret)
		cno->agent = former;
	pthread_mutex_unlock(&cno->lock);
	return ret ? DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY) : DAT_SUCCESS;
}

static DAT_RETURN cno_make(struct udat_cno *cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dat_cno_create arg = { .size = sizeof(arg) };
	struct dat_free undo = { .size = sizeof(undo), .type = DAT_OBJ_CNO };
	DAT_RETURN rc;
	int ret;

	ret = du_file_ioctl(&cno->obj.ia->file, DAT_IOC_CNO_CREATE, &arg);
	if (ret)
		return dat_err_from_errno(-ret);
	cno->obj.id = arg.id;
	pthread_mutex_init(&cno->lock, NULL);
	rc = cno_set_agent(cno, agent);
	if (rc != DAT_SUCCESS) {
		undo.id = arg.id;
		du_file_ioctl(&cno->obj.ia->file, DAT_IOC_FREE, &undo);
		udat_cno_end(cno);
	}
	return rc;
}

UDAT_EXPORT DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
				      DAT_CNO_HANDLE *cno_handle)
{
	struct udat_ia *ia = udat_ia(ia_handle);
	struct udat_cno *cno;
	DAT_RETURN rc;

	UDAT_FORWARD(ia_handle, cno_create, agent, cno_handle);
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (agent_bad(&agent))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!cno_handle)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	cno = udat_obj_new(ia);
	if (!cno)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	rc = cno_make(cno, agent);
	if (rc != DAT_SUCCESS) {
		udat_obj_drop(&cno->obj);
		return rc;
	}
	udat_obj_publish(&cno->obj, UDAT_TYPE(CNO));
	*cno_handle = cno;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle,
					    DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct udat_cno *cno = udat_cno(cno_handle);

	UDAT_FORWARD(cno_handle, cno_modify_agent, agent);
	if (!cno)
		return BAD_CNO;
	if (agent_bad(&agent))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return cno_set_agent(cno, agent);
}

UDAT_EXPORT DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK mask,
				     DAT_CNO_PARAM *param)
{
	struct udat_cno *cno = udat_cno(cno_handle);

	UDAT_FORWARD(cno_handle, cno_query, mask, param);
	if (!cno)
		return BAD_CNO;
	if (mask & ~DAT_CNO_FIELD_ALL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	param->ia_handle = cno->obj.ia;
	pthread_mutex_lock(&cno->lock);
	param->agent = cno->agent;
	pthread_mutex_unlock(&cno->lock);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle)
{
	struct udat_cno *cno = udat_cno(cno_handle);
	DAT_RETURN rc;

	UDAT_FORWARD(cno_handle, cno_free);
	if (!cno)
		return BAD_CNO;
	rc = udat_obj_free(&cno->obj, UDAT_TYPE(CNO), DAT_OBJ_CNO, BAD_CNO,
			   DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE));
	if (rc != DAT_SUCCESS)
		return rc;
	udat_cno_end(cno);
	udat_obj_drop(&cno->obj);
	return DAT_SUCCESS;
}

/* Run when the waiting thread is cancelled. */
static void wait_cancelled(void *arg)
{
	struct udat_ia *ia = arg;

	__atomic_fetch_sub(&ia->waiters, 1, __ATOMIC_ACQ_REL);
}

/* Sleep until the CNO is triggered.  Returns 0 or a negative errno. */
static int cno_sleep(struct udat_cno *cno, struct dat_cno_wait *arg)
{
	int ret;

	pthread_cleanup_push(wait_cancelled, cno->obj.ia);
	ret = du_file_wait(&cno->obj.ia->file, DAT_IOC_CNO_WAIT, arg);
	pthread_cleanup_pop(0);
	return ret;
}

static DAT_RETURN cno_wait(struct udat_cno *cno, DAT_TIMEOUT timeout, struct udat_evd **evd)
{
	struct dat_cno_wait arg = {
		.size = sizeof(arg), .id = cno->obj.id, .deadline_ns = udat_deadline(timeout),
	};
	int ret = cno_sleep(cno, &arg);

	*evd = NULL;
	switch (-ret) {
	case 0:
		*evd = udat_evd((void *)(uintptr_t)arg.evd);
		return DAT_SUCCESS;
	case ETIMEDOUT:
		return DAT_ERR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	case EINTR:
		return DAT_ERR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	case ESHUTDOWN:
		/* The IA has been closed.  Report a notification without an EVD. */
		return DAT_SUCCESS;
	default:
		return udat_ia(cno->obj.ia) ? dat_err_from_errno(-ret) : DAT_SUCCESS;
	}
}

UDAT_EXPORT DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
				    DAT_EVD_HANDLE *evd_handle)
{
	struct udat_cno *cno = udat_cno(cno_handle);
	struct udat_evd *evd = NULL;
	DAT_RETURN rc = DAT_SUCCESS;
	struct udat_ia *ia;

	UDAT_FORWARD(cno_handle, cno_wait, timeout, evd_handle);
	if (!cno)
		return BAD_CNO;
	if (!evd_handle)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ia = cno->obj.ia;
	__atomic_fetch_add(&ia->waiters, 1, __ATOMIC_SEQ_CST);
	/*
	 * dat_ia_close() revokes the handles before it reads @waiters.  So if the close has not
	 * counted this thread as a waiter, the following lookup finds that the handles are invalid.
	 */
	if (udat_ia(ia) && udat_cno(cno))
		rc = cno_wait(cno, timeout, &evd);
	*evd_handle = evd;
	__atomic_fetch_sub(&ia->waiters, 1, __ATOMIC_ACQ_REL);
	return rc;
}

static DAT_RETURN obj_fd(struct udat_obj *obj, uint32_t kind, int *fd)
{
	struct dat_fd arg = { .size = sizeof(arg), .type = kind, .id = obj->id };
	int ret;

	if (!fd)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = du_file_ioctl(&obj->ia->file, DAT_IOC_FD, &arg);
	if (ret) {
		du_explain_files(-ret);
		return dat_err_from_errno(-ret);
	}
	*fd = arg.fd;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_linux_cno_fd(DAT_CNO_HANDLE cno_handle, int *fd)
{
	struct udat_cno *cno = udat_cno(cno_handle);

	return cno ? obj_fd(&cno->obj, DAT_OBJ_CNO, fd) : BAD_CNO;
}

UDAT_EXPORT DAT_RETURN dat_linux_evd_fd(DAT_EVD_HANDLE evd_handle, int *fd)
{
	struct udat_evd *evd = udat_evd(evd_handle);

	return evd ? obj_fd(&evd->obj, DAT_OBJ_EVD, fd) :
		     DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}
