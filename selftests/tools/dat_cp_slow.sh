#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
#
# Test dat-cp with a slow disk.  This is a test of its own because each test has a time limit.
exec "$(dirname "$0")/dat_cp.sh" slow
