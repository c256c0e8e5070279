# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Copyright (c) The dat authors
"""The version of the package: that of include/dat/dat_version.h; scripts/lint-python compares."""

__version__ = "0.9.0"
