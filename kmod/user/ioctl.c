// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The table of the ioctls of /dev/dat.  The dispatcher in lib/ioctl.c copies the arguments. */
#include <linux/stddef.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/psp.h"
#include "core/ep/srq.h"
#include "core/event/evd.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"
#include "lib/device.h"
#include "user/file.h"

/* Requirement of an operation, which dat_user_run() checks. */
enum need {
	NEED_NONE,	/* the operation needs no IA */
	NEED_IA,	/* the file must have an IA; dat_ioctl_op.fn locks the IA if necessary */
	NEED_LIVE,	/* the IA must not be shut down; dat_user_run() locks the IA */
};

#define IOCTL_OP(nr, name, how, ...)					\
	[DAT_NR_##nr] = {						\
		.fn	= dat_cmd_##name,				\
		.need	= how,						\
		DAT_IOCTL_ARG(name),				\
		__VA_ARGS__						\
	}

#define ANSWERS		.answers = true
#define CHANGES		.answers = true, .changes = true
#define MAKES(what)	.answers = true, .finish = dat_cmd_finish_##what

#define VERSION_1(name, last)	DAT_IOCTL_VERSION_1(name, last)

/* VERSION_1() names the last field that a structure had in ABI version 1. */
const struct dat_ioctl_op dat_user_ioctls[DAT_NR_LAST] = {
	IOCTL_OP(ADAPTER, adapter, NEED_NONE, ANSWERS),
	IOCTL_OP(IA_OPEN, ia_open, NEED_NONE, MAKES(ia)),
	IOCTL_OP(IA_QUERY, ia_query, NEED_LIVE, ANSWERS, VERSION_1(ia_query, num_comp_vectors)),
	IOCTL_OP(IA_ADDR, ia_addr, NEED_LIVE, ANSWERS),
	IOCTL_OP(IA_CLOSE, ia_close, NEED_IA),
	IOCTL_OP(FREE, free, NEED_LIVE),
	IOCTL_OP(PZ_CREATE, pz_create, NEED_LIVE, MAKES(obj)),
	IOCTL_OP(LMR_CREATE, lmr_create, NEED_IA, MAKES(obj)),
	IOCTL_OP(LMR_STALE, lmr_stale, NEED_LIVE, CHANGES),
	IOCTL_OP(EVD_CREATE, evd_create, NEED_LIVE, MAKES(evd)),
	IOCTL_OP(EVD_WAIT, evd_wait, NEED_IA),
	IOCTL_OP(EVD_POLL, evd_poll, NEED_IA),
	IOCTL_OP(EVD_POST, evd_post, NEED_LIVE),
	IOCTL_OP(EVD_SET, evd_set, NEED_LIVE),
	IOCTL_OP(RMR_CREATE, rmr_create, NEED_LIVE, MAKES(obj)),
	IOCTL_OP(RMR_BIND, rmr_bind, NEED_IA, CHANGES),
	IOCTL_OP(EVD_MODIFY_CNO, evd_modify_cno, NEED_LIVE),
	IOCTL_OP(EVD_RESIZE, evd_resize, NEED_LIVE, CHANGES),
	IOCTL_OP(CNO_CREATE, cno_create, NEED_LIVE, MAKES(obj)),
	IOCTL_OP(CNO_QUERY, cno_query, NEED_LIVE, ANSWERS),
	IOCTL_OP(CNO_WAIT, cno_wait, NEED_IA, CHANGES),
	IOCTL_OP(FD, fd, NEED_LIVE, MAKES(fd)),
	IOCTL_OP(SRQ_CREATE, srq_create, NEED_LIVE, MAKES(obj)),
	IOCTL_OP(SRQ_RESIZE, srq_resize, NEED_LIVE, CHANGES),
	IOCTL_OP(SRQ_SET_LW, srq_set_lw, NEED_LIVE),
	IOCTL_OP(EP_MODIFY, ep_modify, NEED_LIVE, CHANGES, VERSION_1(ep_modify, generation)),
	IOCTL_OP(EP_CREATE, ep_create, NEED_LIVE, MAKES(obj), VERSION_1(ep_create, rq_shift)),
	IOCTL_OP(EP_CONNECT, ep_connect, NEED_LIVE),
	IOCTL_OP(EP_DISCONNECT, ep_disconnect, NEED_LIVE),
	IOCTL_OP(EP_RESET, ep_reset, NEED_LIVE),
	IOCTL_OP(EP_QUERY, ep_query, NEED_LIVE, ANSWERS),
	IOCTL_OP(PSP_CREATE, psp_create, NEED_LIVE, MAKES(obj)),
	IOCTL_OP(CR_QUERY, cr_query, NEED_LIVE, ANSWERS, VERSION_1(cr_query, pd)),
	IOCTL_OP(CR_ACCEPT, cr_accept, NEED_LIVE),
	IOCTL_OP(CR_REJECT, cr_reject, NEED_LIVE, VERSION_1(cr_reject, id)),
	IOCTL_OP(CR_HANDOFF, cr_handoff, NEED_IA),
	[DAT_NR_KICK] = { .word = dat_file_ioctl_kick },
	[DAT_NR_EVD_LOOK] = { .word = dat_ioctl_evd_look },
	[DAT_NR_EVD_SLEEP] = { .word = dat_ioctl_evd_sleep },
};

int dat_user_run(struct dat_ucmd *ucmd, const struct dat_ioctl_op *op)
{
	struct dat_ia *ia;
	int ret;

	if (op->need == NEED_NONE)
		return op->fn(ucmd);
	ia = dat_file_ia(to_dat_file(ucmd->file));
	if (!ia)
		return -EINVAL;
	ucmd->bound = ia;
	if (op->need == NEED_IA)
		return op->fn(ucmd);
	ret = dat_ia_lock_live(ia);
	if (ret)
		return ret;
	ret = op->fn(ucmd);
	dat_ia_unlock(ia);
	return ret;
}
