#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# dat-cp with a slow disk, apart from the other tests for the sake of their time limit.
exec "$(dirname "$0")/dat_cp.sh" slow
