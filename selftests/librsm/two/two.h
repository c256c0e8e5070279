/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two machines: one exports and does as it is told by the other, which tests.
 *
 * The exporter has three segments: one for control, one for data, and one that it alone may
 * import.  A command is put into the control segment and signalled; the exporter writes
 * there what came of it, and then the command's number.
 */
#ifndef RSM_TWO_H
#define RSM_TWO_H

#include <stdint.h>

#define TWO_EXPORTER	1		/* node ids; addresses are those of scripts/vm --link */
#define TWO_IMPORTER	2
#define TWO_ADDR_1	"10.9.1.1"
#define TWO_ADDR_2	"10.9.1.2"

#define TWO_CONTROL	0x600000	/* segment ids */
#define TWO_DATA	0x600001
#define TWO_PRIVATE	0x600002
#define TWO_SIZE	(1UL << 20)	/* bytes of the data segment */

enum two_op {
	TWO_FILL,	/* the data segment with a byte */
	TWO_SUM,	/* result: of its bytes */
	TWO_POST,	/* so many events for importers of the data segment */
	TWO_EVENTS,	/* result: events that came for the data segment */
	TWO_REBIND,	/* the data segment, to memory filled with a byte */
	TWO_UNPUBLISH,	/* the data segment */
	TWO_PUBLISH,
	TWO_WATCH,	/* data and a flag while they are put; result: how often in disorder */
	TWO_KILL,	/* itself; another exporter is started */
	TWO_POWER_OFF,	/* the machine: at once, without a word to anybody */
};

/* What TWO_WATCH looks at, in the data segment. */
#define TWO_FLAG	0
#define TWO_SLOTS	4096
#define TWO_NR_SLOTS	64

/*
 * struct two_control - the control segment
 * @seq: of the command, by the importer
 * @op: enum two_op
 * @arg: of it
 * @done: seq of the last command that was carried out
 * @result: of it
 */
struct two_control {
	uint64_t	seq;
	uint64_t	op;
	uint64_t	arg;
	uint64_t	done;
	uint64_t	result;
};

#endif /* RSM_TWO_H */
