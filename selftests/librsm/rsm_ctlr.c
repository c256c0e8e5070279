// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* RSMAPI: controllers, the topology, and reserved segment ids. */
#include "rsm_test.h"

#include <sched.h>
#include <sys/mount.h>

/* RSM check: 1 */
TEST(all_names_of_loopback_give_the_same_handle)
{
	static char *const names[] = { NULL, "loopback", "LOOPBACK", "loopback3", "LoopBack17" };
	rsmapi_controller_handle_t first, c;
	unsigned int i;

	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller(NULL, &first));
	ASSERT_NE(NULL, first);
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(RSM_SUCCESS, rsm_get_controller(names[i], &c));
		EXPECT_EQ(first, c);
	}
	for (i = 0; i < 6; i++)
		EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(first));
	EXPECT_EQ(RSMERR_BAD_CTLR_HNDL, rsm_release_controller(first));
}

/* RSM check: 2 */
TEST(names_of_no_controller_are_refused)
{
	rsmapi_controller_handle_t c;
	char name[4097];

	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller("nosuch0", &c));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller("", &c));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller("loopback3x", &c));
	EXPECT_EQ(RSMERR_BAD_CTLR_HNDL, rsm_get_controller("loopback", NULL));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller(name, &c));
	memcpy(name, "loopback", 8);
	memset(name + 8, '0', sizeof(name) - 9);
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller(name, &c));
}

/* RSM check: 3 */
TEST(a_controller_released_too_often_is_none)
{
	rsmapi_controller_attr_t attr;
	rsmapi_controller_handle_t c;

	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller(NULL, &c));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_get_controller_attr(c, NULL));
	EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(c));
	EXPECT_EQ(RSMERR_BAD_CTLR_HNDL, rsm_release_controller(c));
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, rsm_get_controller_attr(c, &attr));
	EXPECT_EQ(RSMERR_BAD_CTLR_HNDL, rsm_get_controller_attr(NULL, &attr));
	EXPECT_EQ(RSMERR_BAD_CTLR_HNDL, rsm_get_controller_attr(&attr, &attr));
	EXPECT_EQ(RSMERR_BAD_CTLR_HNDL, rsm_release_controller(NULL));
}

/*
 * In a new mount namespace, bind-mount the file @arg over /dev/rsm, or hide /dev if @arg is NULL.
 * Returns the result of rsm_get_controller().
 */
static int with_device(void *arg)
{
	rsmapi_controller_handle_t c;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 100;
	if (arg ? mount(arg, "/dev/rsm", NULL, MS_BIND, NULL) :
		  mount("none", "/dev", "tmpfs", 0, NULL))
		return 101;
	return rsm_get_controller(NULL, &c);
}

/* RSM check: 2 */
TEST(a_driver_that_is_not_there_or_too_old_is_told_apart)
{
	if (getuid())
		SKIP(return, "needs root to hide the device");
	EXPECT_EQ(RSMERR_CTLR_NOT_PRESENT, r_child(with_device, NULL));
	/* /dev/null implements no ioctl of RSM, like a driver that is too old. */
	EXPECT_EQ(RSMERR_BAD_LIBRARY_VERSION, r_child(with_device, "/dev/null"));
}

/* RSM check: 4 */
TEST(attributes_of_loopback_are_true)
{
	rsmapi_controller_attr_t attr;
	rsmapi_controller_handle_t c;

	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller(NULL, &c));
	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller_attr(c, &attr));
	EXPECT_EQ(R_PAGE, attr.attr_page_size * 1024);
	EXPECT_EQ(RSM_DAS8 | RSM_DAS16 | RSM_DAS32 | RSM_DAS64, attr.attr_direct_access_sizes);
	EXPECT_EQ(RSM_DAS8 | RSM_DAS16 | RSM_DAS32 | RSM_DAS64, attr.attr_atomic_sizes);
	EXPECT_LT(R_PAGE, attr.attr_max_export_segment_size);
	EXPECT_LE(attr.attr_max_export_segment_size, attr.attr_tot_export_segment_size);
	EXPECT_LT(0, attr.attr_max_export_segments);
	EXPECT_LT(0, attr.attr_max_import_segments);
	EXPECT_LT(R_PAGE, attr.attr_max_import_map_size);
	EXPECT_LE(attr.attr_max_import_map_size, attr.attr_tot_import_map_size);
	EXPECT_EQ(RSM_SUCCESS, rsm_release_controller(c));
}

/* RSM check: 6 */
TEST(loopback_is_not_in_the_topology)
{
	rsm_topology_t *t;
	unsigned int i;

	EXPECT_EQ(RSMERR_BAD_TOPOLOGY_PTR, rsm_get_interconnect_topology(NULL));
	rsm_free_interconnect_topology(NULL);
	ASSERT_EQ(RSM_SUCCESS, rsm_get_interconnect_topology(&t));
	EXPECT_GE(RSM_MAX_NODE, t->topology_hdr.local_nodeid);
	EXPECT_GE(RSM_MAX_CTRL, t->topology_hdr.local_cntlr_count);
	for (i = 0; i < t->topology_hdr.local_cntlr_count; i++) {
		EXPECT_LT((char *)t, (char *)t->connections[i]);
		EXPECT_NE(0, strncmp("loopback", t->connections[i]->hdr.cntlr_name, 8));
	}
	rsm_free_interconnect_topology(t);
}

static int write_conf(const char *text)
{
	FILE *f;

	mkdir("/etc/rsm", 0755);
	f = fopen("/etc/rsm/rsm.segmentid", "w");
	if (!f)
		return -1;
	fputs(text, f);
	return fclose(f);
}

/* RSM check: 8 */
TEST(reserved_ids_are_read_from_the_file)
{
	rsm_memseg_id_t base = 1;
	uint32_t len = 2;

	if (getuid())
		SKIP(return, "needs to write /etc/rsm/rsm.segmentid");
	unlink("/etc/rsm/rsm.segmentid");
	EXPECT_EQ(RSMERR_BAD_CONF, rsm_get_segmentid_range("APP", &base, &len));
	ASSERT_EQ(0, write_conf("# ids\nreserve ONE 600000 10\nreserved APP 700000 256\n"));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_get_segmentid_range(NULL, &base, &len));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_get_segmentid_range("APP", NULL, &len));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_get_segmentid_range("APP", &base, NULL));
	EXPECT_EQ(RSMERR_BAD_APPID, rsm_get_segmentid_range("NONE", &base, &len));
	EXPECT_EQ(1, base);
	EXPECT_EQ(RSM_SUCCESS, rsm_get_segmentid_range("app", &base, &len));
	EXPECT_EQ(0x700000, base);
	EXPECT_EQ(256, len);
	ASSERT_EQ(0, write_conf("reserved ONE 600000\nreserved APP 700000 256\n"));
	EXPECT_EQ(RSMERR_BAD_CONF, rsm_get_segmentid_range("APP", &base, &len));
	unlink("/etc/rsm/rsm.segmentid");
}

TEST_HARNESS_MAIN
