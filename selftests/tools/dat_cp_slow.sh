#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# dat-cp with a slow disk, in a test of its own because of the time limit.
exec "$(dirname "$0")/dat_cp.sh" slow
