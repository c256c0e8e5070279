// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Finds out why dat.ko is not loaded, without loading it: from the kernel's log, from what is
 * installed below /lib/modules, and from the rules of this kernel for signatures.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "info.h"

#define MODULES		"/lib/modules"
#define SIGNED		"~Module signature appended~\n"
#define PATH_SIZE	512
#define CLOCKS_S	2	/* most that the clock of the log may differ, in seconds */

int module_is_loaded(const char *module)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	return !access(path, F_OK);
}

/*
 * Returns whether @module is in the file @list of kernel @release.  @path gets the name of the
 * module's file, below the directory of that kernel.  The module may be compressed.
 */
static int find(const char *release, const char *module, const char *list, char path[PATH_SIZE])
{
	char name[PATH_SIZE], want[64], *line = NULL;
	size_t size = 0;
	int found = 0;
	FILE *f;

	snprintf(name, sizeof(name), MODULES "/%s/%s", release, list);
	snprintf(want, sizeof(want), "/%s.ko", module);
	f = fopen(name, "re");
	while (f && !found && getline(&line, &size, f) > 0) {
		line[strcspn(line, ":\n")] = '\0';
		found = !!strstr(line, want);
	}
	if (found)
		snprintf(path, PATH_SIZE, "%s", line);
	free(line);
	if (f)
		fclose(f);
	return found;
}

int module_is_listed(const char *module, const char *list)
{
	char path[PATH_SIZE];
	struct utsname uts;

	uname(&uts);
	return find(uts.release, module, list, path);
}

/* Find a kernel that dat.ko is installed for. */
static int find_kernel(char release[PATH_SIZE])
{
	DIR *dir = opendir(MODULES);
	char path[PATH_SIZE];
	struct dirent *e;
	int found = 0;

	while (dir && !found && (e = readdir(dir))) {
		found = find(e->d_name, "dat", "modules.dep", path);
		if (found)
			snprintf(release, PATH_SIZE, "%s", e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* ---- The kernel's log ---- */

/* Returns whether the kernel refused dat.ko with the message @text. */
static int is_refusal(const char *text)
{
	return !strncmp(text, "dat: ", 5) &&
	       (strstr(text, "Unknown symbol") || strstr(text, "version of symbol") ||
		strstr(text, "symbol version") || strstr(text, "version magic"));
}

/* Returns whether dat.ko says in the message @text that it is loaded. */
static int is_load(const char *text)
{
	static const char loaded[] = "dat: loaded,";

	return !strncmp(text, loaded, strlen(loaded));
}

/*
 * Returns the time at which dat.ko was installed for this kernel, in seconds since boot, or 0 if it
 * is not installed.  A package keeps the mtime of the build, so this is the ctime.  CLOCK_MONOTONIC
 * does not count a suspend, and neither does the log.
 */
static double installed_at(void)
{
	char path[PATH_SIZE], name[2 * PATH_SIZE];
	struct timespec now, up;
	struct utsname uts;
	struct stat st;

	uname(&uts);
	if (!find(uts.release, "dat", "modules.dep", path))
		return 0;
	snprintf(name, sizeof(name), MODULES "/%s/%s", uts.release, path);
	if (stat(name, &st))
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_MONOTONIC, &up);
	return (double)up.tv_sec - difftime(now.tv_sec, st.st_ctime);
}

/*
 * Returns the time of a record of the log, in seconds since boot.  It begins with its priority, its
 * number, and its time in microseconds.
 */
static double record_time(const char *record)
{
	unsigned long long us;

	return sscanf(record, "%*u,%*u,%llu", &us) == 1 ? (double)us * 1e-6 : 0;
}

/*
 * Get the last refusal from the kernel's log that is not older than the installed dat.ko.  Returns
 * 0 if there is none, if the kernel took dat.ko later, or if the user may not read the log.  Each
 * read() returns one record: fields up to ';', and the text up to the end of the line.
 */
static int last_refusal(char refusal[PATH_SIZE])
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC), found = 0;
	double installed = installed_at();
	char record[8192], *text;
	ssize_t n = 0;

	/* EPIPE means that records were overwritten before they were read. */
	while (fd >= 0 && ((n = read(fd, record, sizeof(record) - 1)) > 0 ||
			   (n < 0 && errno == EPIPE))) {
		record[n > 0 ? n : 0] = '\0';
		text = strchr(record, ';');
		if (!text)
			continue;
		text[strcspn(text, "\n")] = '\0';
		if (is_load(++text))
			found = 0;
		if (!is_refusal(text) || record_time(record) + CLOCKS_S < installed)
			continue;
		snprintf(refusal, PATH_SIZE, "%.*s", PATH_SIZE - 1, text);
		found = 1;
	}
	if (fd >= 0)
		close(fd);
	return found;
}

static void report_refusal(const char *refusal)
{
	const char *advice = "dat.ko was built for other modules than those of this kernel: build and install it anew (dkms autoinstall, or make modules_install && depmod), then modprobe dat";
	char path[PATH_SIZE];
	struct utsname uts;

	uname(&uts);
	if (strstr(refusal, "version magic"))
		advice = "build and install dat.ko for the kernel that runs (dkms autoinstall, or make modules_install && depmod), then modprobe dat";
	else if (find(uts.release, "ib_core", "modules.dep", path) && strncmp(path, "kernel/", 7))
		advice = "ib_core is of another RDMA stack than the kernel's, for which dat.ko was built: remove that stack, and boot";
	else if (strstr(refusal, "(err -2)"))
		advice = "load it with modprobe dat, which loads ib_core and rdma_cm first; if that says the same, build and install dat.ko for this kernel";
	check_report(CHECK_FAIL, "driver", "the kernel did not take dat.ko: '%s' -> %s", refusal,
		     advice);
}

/* ---- The file of the module ---- */

/*
 * struct module - contents of the file of dat.ko
 * @data: the file, or NULL if it is compressed or cannot be read
 * @size: bytes of the file
 */
struct module {
	const char	*data;
	size_t		size;
};

static void module_map(struct module *m, const char *release, const char *path)
{
	char name[2 * PATH_SIZE];
	const char *dot = strrchr(path, '.');
	struct stat st;
	void *va;
	int fd;

	*m = (struct module){ NULL, 0 };
	snprintf(name, sizeof(name), MODULES "/%s/%s", release, path);
	fd = dot && !strcmp(dot, ".ko") ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size > 0) {
		va = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (va != MAP_FAILED)
			*m = (struct module){ va, (size_t)st.st_size };
	}
	close(fd);
}

static int is_signed(const struct module *m)
{
	size_t n = strlen(SIGNED);

	return m->size > n && !memcmp(m->data + m->size - n, SIGNED, n);
}

/*
 * Get the release of the only kernel that takes the module, which begins its "vermagic".  Returns 0
 * if there is no such kernel: of a module with versions of its symbols, the kernel compares these.
 */
static int built_for(const struct module *m, char release[PATH_SIZE])
{
	static const char key[] = "vermagic=";
	const char *at = memmem(m->data, m->size, key, strlen(key)), *end = m->data + m->size;
	size_t n;

	if (!at)
		return 0;
	at += strlen(key);
	for (n = 0; at + n < end && at[n] && n < PATH_SIZE - 1; n++)
		release[n] = at[n];
	release[n] = '\0';
	if (strstr(release, " modversions"))
		return 0;
	release[strcspn(release, " ")] = '\0';
	return 1;
}

/* ---- The rules for signatures ---- */

/* Returns the rule that makes this kernel take only modules with a trusted signature, or NULL. */
static const char *signature_rule(void)
{
	char text[128];

	if (!text_read(text, sizeof(text), "/sys/module/module/parameters/sig_enforce") &&
	    (text[0] == 'Y' || text[0] == '1'))
		return "module.sig_enforce";
	if (!text_read(text, sizeof(text), "/sys/kernel/security/lockdown") && strchr(text, '[') &&
	    !strstr(text, "[none]"))
		return "lockdown, as with Secure Boot";
	return NULL;
}

/* ---- The report ---- */

static void report_installed(const char *release, const char *path)
{
	const char *rule = signature_rule();
	char other[PATH_SIZE];
	struct module m;

	module_map(&m, release, path);
	if (m.data && built_for(&m, other) && strcmp(other, release))
		check_report(CHECK_FAIL, "driver",
			     "dat.ko was built for kernel %s, and %s runs -> build and install it for %s (dkms autoinstall, or make modules_install && depmod), then modprobe dat",
			     other, release, release);
	else if (rule && m.data && !is_signed(&m))
		check_report(CHECK_FAIL, "driver",
			     "dat.ko has no signature, and this kernel takes only modules that are signed by a key that it trusts (%s) -> sign it and enroll the key, see Secure Boot in install.rst; then modprobe dat",
			     rule);
	else if (rule)
		check_report(CHECK_FAIL, "driver",
			     "dat.ko is not loaded, and this kernel takes only modules that are signed by a key that it trusts (%s) -> as root: modprobe dat; if the key is rejected, enroll it with mokutil --import, see Secure Boot in install.rst",
			     rule);
	else if (find(release, "ib_core", "modules.dep", other) && strncmp(other, "kernel/", 7))
		check_report(CHECK_FAIL, "driver",
			     "dat.ko is not loaded, and ib_core is %s, of another RDMA stack than the kernel's -> as root: modprobe dat; if symbols are unknown or of another version, remove that stack, and boot",
			     other);
	else
		check_report(CHECK_FAIL, "driver", "dat.ko is not loaded -> as root: modprobe dat");
	if (m.data)
		munmap((void *)m.data, m.size);
}

void module_report(void)
{
	char path[PATH_SIZE];
	struct utsname uts;

	uname(&uts);
	if (last_refusal(path))
		report_refusal(path);
	else if (find(uts.release, "dat", "modules.dep", path))
		report_installed(uts.release, path);
	else if (find_kernel(path))
		check_report(CHECK_FAIL, "driver",
			     "dat.ko is installed for kernel %s, and %s runs -> boot %s, or install it for %s (dkms autoinstall, or make modules_install && depmod), then modprobe dat",
			     path, uts.release, path, uts.release);
	else
		check_report(CHECK_FAIL, "driver",
			     "dat.ko is not loaded, nor installed for kernel %s -> as root: make modules_install && depmod && modprobe dat",
			     uts.release);
}
