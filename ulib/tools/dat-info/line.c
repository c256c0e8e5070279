// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Checks of dat.conf: lines that are malformed or have no effect, and libraries that are missing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/dat_registry.h>

#include "info.h"

#define LOAD_SECONDS	10

/*
 * Load a provider library.  Runs in a child process, because dlopen() runs the library's
 * constructors.
 */
static int load(const void *library)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	if (dlsym(lib, DAT_PROVIDER_INIT_FUNC_STR) && dlsym(lib, DAT_PROVIDER_FINI_FUNC_STR))
		return 0;
	fprintf(stderr, "%s is no provider: it lacks %s() or %s()\n", (const char *)library,
		DAT_PROVIDER_INIT_FUNC_STR, DAT_PROVIDER_FINI_FUNC_STR);
	return 1;
}

static void check_provider(const struct conf_line *l)
{
	char output[1024];
	int ret = child_run(load, l->library, LOAD_SECONDS, output, sizeof(output));

	if (!ret)
		check_report(CHECK_OK, "provider", "%s: %s can be loaded", l->where, l->library);
	else if (ret < 0)
		check_report(CHECK_FAIL, "provider",
			     "%s: loading %s: %s -> replace the library, or remove the line",
			     l->where, l->library, output);
	else
		check_report(CHECK_FAIL, "provider",
			     "%s: %s -> install the library, or correct field 5 of the line",
			     l->where, output);
}

static void check_alias(const struct conf_line *l, struct adapter *list, int n)
{
	if (!*l->params || strlen(l->params) >= DAT_NAME_SIZE)
		check_report(CHECK_WARN, "conf",
			     "%s: field 7, the IA parameters, is no name of an adapter -> write one there",
			     l->where);
	else if (n >= 0 && !adapter_find(list, n, l->params))
		check_report(CHECK_WARN, "conf",
			     "%s: '%s' stands for the adapter '%s', which is not there -> name one that dat-info lists",
			     l->where, l->name, l->params);
}

/*
 * Returns the first earlier line that defines the same name, version and thread safety, or NULL.  A
 * program uses only the first such line.
 */
static const struct conf_line *first_of(const struct conf *conf, const struct conf_line *l)
{
	const struct conf_line *o;

	for (o = conf->lines; o < l; o++)
		if (!strcmp(o->name, l->name) && o->major == l->major && o->minor == l->minor &&
		    o->threadsafe == l->threadsafe)
			return o;
	return NULL;
}

static void check_line(const struct conf *conf, const struct conf_line *l,
		       struct adapter *list, int n)
{
	const struct conf_line *first = first_of(conf, l);

	if (n > 0 && adapter_find(list, n, l->name))
		check_report(CHECK_WARN, "conf",
			     "%s: has no effect, because '%s' is an adapter of the driver -> choose another name",
			     l->where, l->name);
	if (first)
		check_report(CHECK_WARN, "conf",
			     "%s: has no effect beside %s, which defines '%s' -> remove one of them",
			     l->where, first->where, l->name);
	if (l->alias)
		check_alias(l, list, n);
	else
		check_provider(l);
}

void check_conf(int usable)
{
	const struct conf *conf = conf_get();
	struct adapter *list = NULL;
	int n = usable ? adapter_list(&list) : -1;
	unsigned int i;

	for (i = 0; i < conf->nwrong; i++)
		check_report(CHECK_WARN, "conf", "%s -> correct it, see libdat.conf(5)",
			     conf->wrong[i]);
	if (!conf->nwrong && !conf->n)
		check_report(CHECK_OK, "conf", "dat.conf has no lines for us, and needs none");
	else if (!conf->nwrong)
		check_report(CHECK_OK, "conf", "dat.conf: %u well-formed lines", conf->n);
	for (i = 0; i < conf->n; i++)
		check_line(conf, &conf->lines[i], list, n);
	free(list);
}
