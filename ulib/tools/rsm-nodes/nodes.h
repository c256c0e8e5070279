/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * rsm-nodes: declarations that the files share.
 *
 *   main.c	options and commands
 *   file.c	the file with the table of nodes
 *   key.c	the cluster key
 *   show.c	output of the table and of the topology
 *   driver.c	calls of the driver, and errors
 */
#ifndef RSM_NODES_H
#define RSM_NODES_H

#include <stdint.h>

#include <rdma/dat_rsm.h>

#define FILE_NAME	"/etc/rsm/rsm.nodes"
#define KEY_DIR		"/etc/rsm"
#define KEY_FILE	KEY_DIR "/cluster.key"

/* driver.c: all of these functions exit with status 1 after an error */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Returns a file descriptor of the driver. */
int device(void);
void call(int fd, struct dat_rsm_nodes *arg);

/* file.c */
void load(const char *name);

/* key.c */
/* Returns the reason why no key can be written to @name, or NULL.  Makes the directory KEY_DIR. */
const char *keygen_wrong(const char *name);
/* Create the key file, or replace it if @force is set. */
void keygen(const char *name, int force);
void key_load(const char *name);
/*
 * Make a key the cluster key, or remove the cluster key if @serial is 0.  The driver takes a
 * reference to the key, because this process's keyring is destroyed when the process exits.
 */
void key_set(int32_t serial);

/* show.c: @json: flag: print a JSON object */
void show(int json);
void status(int json);

#endif /* RSM_NODES_H */
