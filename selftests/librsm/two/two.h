/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Tests with two machines: an importer, which runs the tests, and an exporter, which executes the
 * importer's commands.
 *
 * The exporter has three segments: one for control, one for data, and one that only the exporter
 * may import.  The importer puts a command into the control segment and signals the segment.  The
 * exporter executes the command, writes the result into the control segment, and then copies the
 * number of the command to @done.
 */
#ifndef RSM_TWO_H
#define RSM_TWO_H

#include <stdint.h>

#define TWO_EXPORTER	1		/* node ids; addresses: scripts/vm --link */
#define TWO_IMPORTER	2
#define TWO_ADDR_1	"10.9.1.1"
#define TWO_ADDR_2	"10.9.1.2"

#define TWO_CONTROL	0x600000	/* segment ids */
#define TWO_DATA	0x600001
#define TWO_PRIVATE	0x600002
#define TWO_SIZE	(1UL << 20)	/* bytes of the data segment */

enum two_op {
	TWO_FILL,	/* fill the data segment with the byte @arg */
	TWO_SUM,	/* result: sum of all bytes of the data segment */
	TWO_POST,	/* post @arg events to the importers of the data segment */
	TWO_EVENTS,	/* result: number of events that the data segment has got */
	TWO_REBIND,	/* rebind the data segment to memory filled with the byte @arg */
	TWO_UNPUBLISH,	/* unpublish the data segment */
	TWO_PUBLISH,
	TWO_WATCH,	/* watch; result: how often the flag preceded its data */
	TWO_KILL,	/* kill the exporter; another exporter is then started */
	TWO_POWER_OFF,	/* power off at once, without a disconnect */
};

/* Result of TWO_WATCH while the exporter watches. */
#define TWO_WATCHING	(~2ULL)

/* Offsets in the data segment for TWO_WATCH: the flag, and the data slots. */
#define TWO_FLAG	0
#define TWO_SLOTS	4096
#define TWO_NR_SLOTS	64

/*
 * struct two_control - contents of the control segment
 * @seq: number of the command, written by the importer
 * @op: command, enum two_op
 * @arg: argument of the command
 * @done: @seq of the last command that the exporter has executed
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
