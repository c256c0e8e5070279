/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two machines: one exports and obeys the other, which runs the tests.
 *
 * The exporter has three segments: one for control, one for data, and one that only the exporter
 * may import.  The importer puts a command into the control segment and signals it.  The
 * exporter writes the result into the control segment, and then the command's number.
 */
#ifndef RSM_TWO_H
#define RSM_TWO_H

#include <stdint.h>

#define TWO_EXPORTER	1		/* node ids; the addresses are those of scripts/vm --link */
#define TWO_IMPORTER	2
#define TWO_ADDR_1	"10.9.1.1"
#define TWO_ADDR_2	"10.9.1.2"

#define TWO_CONTROL	0x600000	/* segment ids */
#define TWO_DATA	0x600001
#define TWO_PRIVATE	0x600002
#define TWO_SIZE	(1UL << 20)	/* bytes of the data segment */

enum two_op {
	TWO_FILL,	/* fill the data segment with a byte */
	TWO_SUM,	/* result: sum of the data segment's bytes */
	TWO_POST,	/* post this many events to importers of the data segment */
	TWO_EVENTS,	/* result: number of events at the data segment */
	TWO_REBIND,	/* rebind the data segment to memory filled with a byte */
	TWO_UNPUBLISH,	/* unpublish the data segment */
	TWO_PUBLISH,
	TWO_WATCH,	/* watch puts; result: how often the flag came before its data */
	TWO_KILL,	/* kill the exporter; another one is started */
	TWO_POWER_OFF,	/* power off at once, without disconnecting */
};

/* Offsets in the data segment that TWO_WATCH reads. */
#define TWO_FLAG	0
#define TWO_SLOTS	4096
#define TWO_NR_SLOTS	64

/*
 * struct two_control - the control segment
 * @seq: number of the command, by the importer
 * @op: enum two_op
 * @arg: argument of the command
 * @done: seq of the last command that was carried out
 * @result: result of that command
 */
struct two_control {
	uint64_t	seq;
	uint64_t	op;
	uint64_t	arg;
	uint64_t	done;
	uint64_t	result;
};

#endif /* RSM_TWO_H */
