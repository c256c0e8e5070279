// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The module.  A line "SIDE TEST SIZE COUNT WINDOW" written to dat_kperf/run in debugfs runs a
 * test.  A later read of this file returns the result:
 *
 *   # echo "dat send 64 10000 64" >/sys/kernel/debug/dat_kperf/run
 *   # cat /sys/kernel/debug/dat_kperf/run
 *   side=dat test=send size=64 count=10000 window=64 rate=123456 avg_ns=8100
 *
 * SIDE is dat or verbs.  TEST is lat, send, write or bind.  lat measures COUNT round trips of a
 * ping-pong and reports one-way times.  send and write measure COUNT messages with WINDOW in
 * flight.  bind measures COUNT binds of SIZE bytes, each of which ends the previous one.
 */
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "kperf.h"

#define LINE	256
#define WORDS	5	/* number of words in a line */

char *kperf_device = "rxe0";
module_param_named(device, kperf_device, charp, 0444);
MODULE_PARM_DESC(device, "IA and RDMA device (rxe0)");

char *kperf_address = "10.9.0.1";
module_param_named(address, kperf_address, charp, 0444);
MODULE_PARM_DESC(address, "IP address of the device (10.9.0.1)");

static DEFINE_MUTEX(lock);	/* protects result; held during a run */
static char result[LINE];
static struct dentry *dir;

static const struct kperf_side *const sides[] = { &kperf_dat, &kperf_verbs };

static const struct kperf_side *side_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sides); i++)
		if (!strcmp(sides[i]->name, name))
			return sides[i];
	return NULL;
}

static int parse_words(char **words, struct kperf_run *run)
{
	u32 *const numbers[] = { &run->size, &run->count, &run->window };
	unsigned int i;
	int ret;

	run->side = side_find(words[0]);
	run->test = kperf_test_find(words[1]);
	if (!run->side || !run->test)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		ret = kstrtou32(words[2 + i], 10, numbers[i]);
		if (ret)
			return ret;
	}
	if (run->size > KPERF_MAX_SIZE || !run->count || run->count > KPERF_MAX_COUNT ||
	    !run->window || run->window > KPERF_MAX_WINDOW)
		return -EINVAL;
	return 0;
}

static int parse(const char *line, struct kperf_run *run)
{
	int n, ret = -EINVAL;
	char **words;

	words = argv_split(GFP_KERNEL, line, &n);
	if (!words)
		return -ENOMEM;
	if (n == WORDS)
		ret = parse_words(words, run);
	argv_free(words);
	return ret;
}

static int order(const char *line)
{
	struct kperf_run *run;
	int ret;

	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return -ENOMEM;
	ret = parse(line, run);
	if (!ret)
		ret = mutex_lock_interruptible(&lock);
	if (!ret) {
		result[0] = '\0';
		ret = kperf_run(run, result, sizeof(result));
		mutex_unlock(&lock);
	}
	kfree(run);
	return ret;
}

static ssize_t run_write(struct file *file, const char __user *buf, size_t size, loff_t *pos)
{
	char line[LINE];
	int ret;

	if (size >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, buf, size))
		return -EFAULT;
	line[size] = '\0';
	ret = order(line);
	return ret ? ret : size;
}

static ssize_t run_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	ssize_t ret;

	ret = mutex_lock_interruptible(&lock);
	if (ret)
		return ret;
	ret = simple_read_from_buffer(buf, size, pos, result, strlen(result));
	mutex_unlock(&lock);
	return ret;
}

static const struct file_operations run_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= run_read,
	.write	= run_write,
	.llseek	= default_llseek,
};

static int __init kperf_init(void)
{
	dir = debugfs_create_dir("dat_kperf", NULL);
	debugfs_create_file("run", 0600, dir, NULL, &run_fops);
	return 0;
}

static void __exit kperf_exit(void)
{
	/* debugfs_remove() waits until no read() or write() of the file is running. */
	debugfs_remove(dir);
}

module_init(kperf_init);
module_exit(kperf_exit);

MODULE_DESCRIPTION("What kDAPL costs, beside kernel verbs");
MODULE_LICENSE("GPL");
MODULE_INFO(import_ns, "DAT");
