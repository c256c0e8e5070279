// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Checks of the host and the user: kernel, modules, /dev/dat, locked memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../common/dev.h"
#include "../common/tool.h"
#include "info.h"

#define DEVICE		"/dev/dat"
#define GROUP		"rdma"
#define RULE		"90-dat.rules"
#define MEMLOCK_LOW	(64ULL << 20)	/* warn if the limit in bytes is lower */
#define CAP_IPC_LOCK	14
#define INIT_USER_NS	"user:[4026531837]"	/* fixed name of the first namespace */

/* ---- Kernel and modules ---- */

void check_kernel(void)
{
	static const char *const needed[] = { "ib_core", "rdma_cm" };
	unsigned int major, minor, i;
	struct utsname uts;

	uname(&uts);
	/* A release that does not begin with a number may be any version.  Assume a new version. */
	if (sscanf(uts.release, "%u.%u", &major, &minor) != 2)
		major = UINT_MAX;
	if (major < 6 || (major == 6 && minor < 1))
		check_report(CHECK_FAIL, "kernel",
			     "%s is older than 6.1, the oldest that dat.ko is made for -> boot a later kernel",
			     uts.release);
	else if (major == 6 && minor == 1)
		check_report(CHECK_OK, "kernel", "%s", uts.release);
	else
		check_report(module_is_loaded("dat") ? CHECK_OK : CHECK_WARN, "kernel",
			     "%s is not 6.1, which dat.ko is tested with -> if dat.ko does not build or load, boot a 6.1 kernel",
			     uts.release);
	for (i = 0; i < 2; i++) {
		if (module_is_loaded(needed[i]) || module_is_listed(needed[i], "modules.builtin"))
			check_report(CHECK_OK, "rdma", "%s is loaded", needed[i]);
		else if (module_is_listed(needed[i], "modules.dep"))
			check_report(CHECK_WARN, "rdma", "%s is not loaded -> modprobe dat loads it",
				     needed[i]);
		else
			check_report(CHECK_FAIL, "rdma",
				     "this kernel has no %s -> use one with CONFIG_INFINIBAND and CONFIG_INFINIBAND_ADDR_TRANS, and all its modules installed",
				     needed[i]);
	}
}

static int check_loaded(void)
{
	if (!module_is_loaded("dat")) {
		module_report();
		return 0;
	}
	check_report(CHECK_OK, "driver", "dat.ko is loaded");
	return 1;
}

/* ---- /dev/dat ---- */

static const char *group_name(gid_t gid)
{
	static char number[16];
	const struct group *gr = getgrgid(gid);

	if (gr)
		return gr->gr_name;
	snprintf(number, sizeof(number), "%u", gid);
	return number;
}

static const char *user_name(void)
{
	const struct passwd *pw = getpwuid(getuid());

	return pw ? pw->pw_name : "USER";
}

static int in_list(gid_t gid, const gid_t *list, int n)
{
	while (n-- > 0)
		if (list[n] == gid)
			return 1;
	return 0;
}

/*
 * Returns whether this process has the group @gid, because the kernel checks the groups of the
 * process.
 */
static int session_has(gid_t gid)
{
	gid_t list[1024];

	return getegid() == gid || in_list(gid, list, getgroups(1024, list));
}

static int account_has(gid_t gid)
{
	const struct passwd *pw = getpwuid(getuid());
	gid_t list[1024];
	int n = 1024;

	if (!pw || getgrouplist(pw->pw_name, pw->pw_gid, list, &n) < 0)
		return 0;
	return in_list(gid, list, n);
}

static int has_rule(void)
{
	static const char *const dirs[] = {
		"/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d",
		"/usr/lib/udev/rules.d", "/lib/udev/rules.d",
	};
	char path[64];
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s/" RULE, dirs[i]);
		if (!access(path, F_OK))
			return 1;
	}
	return 0;
}

/* Returns advice for restoring the owner and the mode of the device node. */
static const char *node_advice(void)
{
	return has_rule() ? "as root: udevadm trigger " DEVICE :
	       "install the udev rule " RULE " (make install); as root: udevadm control --reload; udevadm trigger " DEVICE;
}

static int is_for_group(const struct stat *st)
{
	return st->st_gid && (st->st_mode & 0060) == 0060;
}

/* Check whether users other than root can use the device node. */
static void check_node(const struct stat *st)
{
	mode_t mode = st->st_mode & 07777;

	if (!getgrnam(GROUP))
		check_report(CHECK_WARN, "device",
			     "there is no group '" GROUP "' for the users of " DEVICE " -> as root: groupadd -r " GROUP);
	if ((mode & 0006) == 0006)
		check_report(CHECK_OK, "device", DEVICE " is open to everybody, mode %04o", mode);
	else if (is_for_group(st))
		check_report(CHECK_OK, "device", DEVICE " is open to the group '%s', mode %04o",
			     group_name(st->st_gid), mode);
	else
		check_report(CHECK_WARN, "device",
			     DEVICE " is open to root only (group '%s', mode %04o), not to the group '" GROUP "' -> %s",
			     group_name(st->st_gid), mode, node_advice());
}

static void report_permission(const struct stat *st)
{
	mode_t mode = st->st_mode & 07777;
	const char *group = group_name(st->st_gid);

	if (!is_for_group(st))
		check_report(CHECK_FAIL, "device",
			     "no permission to open " DEVICE " (group '%s', mode %04o), which should be open to the group '" GROUP "' -> %s; usermod -aG " GROUP " %s, and log in again",
			     group, mode, node_advice(), user_name());
	else if (session_has(st->st_gid))
		check_report(CHECK_FAIL, "device",
			     "no permission to open " DEVICE " although the group '%s' may -> allow the device in the container or service (DeviceAllow=" DEVICE " rw)",
			     group);
	else if (account_has(st->st_gid))
		check_report(CHECK_FAIL, "device",
			     "%s is in the group '%s', but this session is not -> log in again",
			     user_name(), group);
	else
		check_report(CHECK_FAIL, "device",
			     "no permission to open " DEVICE ": %s is not in the group '%s' -> as root: usermod -aG %s %s; then log in again",
			     user_name(), group, group, user_name());
}

static int check_version(int fd)
{
	struct dat_abi abi = { .size = sizeof(abi) };
	int ret = du_ioctl(fd, DAT_IOC_ABI, &abi);

	if (!ret && abi.version == DAT_ABI_VERSION) {
		check_report(CHECK_OK, "version", "driver and library speak version %u",
			     abi.version);
		return 1;
	}
	if (ret)
		check_report(CHECK_FAIL, "version",
			     DEVICE " does not answer: %s -> as root: rmmod dat; modprobe dat",
			     strerror(-ret));
	else
		check_report(CHECK_FAIL, "version",
			     "the driver speaks version %u, the library %d -> install both from the same release; as root: rmmod dat; modprobe dat",
			     abi.version, DAT_ABI_VERSION);
	return 0;
}

int check_driver(void)
{
	int fd, usable = 0, loaded = check_loaded();
	struct stat st;

	if (!loaded)
		return 0;
	if (stat(DEVICE, &st)) {
		check_report(CHECK_FAIL, "device",
			     "no " DEVICE " although the driver is loaded -> pass it to the container (--device " DEVICE "), or see whether udev runs");
		return 0;
	}
	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		check_node(&st);
		usable = check_version(fd);
		close(fd);
	} else if (errno == EACCES || errno == EPERM) {
		report_permission(&st);
	} else {
		check_report(CHECK_FAIL, "device",
			     "cannot open " DEVICE ": %s -> as root: rmmod dat; modprobe dat",
			     strerror(errno));
	}
	return usable;
}

/* ---- Locked memory ---- */

/*
 * Returns whether this process may lock all its memory.  The driver requires CAP_IPC_LOCK in the
 * initial user namespace.
 */
static int may_lock_all(void)
{
	char line[128], ns[64];
	ssize_t n = readlink("/proc/self/ns/user", ns, sizeof(ns) - 1);
	uint64_t caps = 0;
	FILE *f;

	ns[n > 0 ? n : 0] = '\0';
	if (strcmp(ns, INIT_USER_NS))
		return 0;
	f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %" SCNx64, &caps) == 1)
			break;
	if (f)
		fclose(f);
	return caps >> CAP_IPC_LOCK & 1;
}

static const char *limit_text(rlim_t n, char buf[32])
{
	if (n == RLIM_INFINITY)
		return "unlimited";
	if (!text_bytes(n, buf))
		snprintf(buf, 32, "%llu bytes", (unsigned long long)n);
	return buf;
}

void check_memlock(void)
{
	char soft[32], hard[32];
	struct rlimit lim;

	if (getrlimit(RLIMIT_MEMLOCK, &lim))
		return;
	if (may_lock_all())
		check_report(CHECK_OK, "memlock", "any memory may be registered (CAP_IPC_LOCK)");
	else if (lim.rlim_cur >= MEMLOCK_LOW)
		check_report(CHECK_OK, "memlock", "ulimit -l lets %s be registered",
			     limit_text(lim.rlim_cur, soft));
	else if (lim.rlim_max >= MEMLOCK_LOW)
		check_report(CHECK_WARN, "memlock",
			     "ulimit -l lets no more than %s be registered, of a possible %s -> ulimit -l $(ulimit -H -l)",
			     limit_text(lim.rlim_cur, soft), limit_text(lim.rlim_max, hard));
	else
		check_report(CHECK_WARN, "memlock",
			     "ulimit -l lets no more than %s be registered, and no more than %s can be asked for -> '@" GROUP " - memlock unlimited' in /etc/security/limits.conf, LimitMEMLOCK=infinity in a service, --ulimit memlock=-1 for a container",
			     limit_text(lim.rlim_cur, soft), limit_text(lim.rlim_max, hard));
}
