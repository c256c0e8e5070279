#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (c) The dat authors
exec "$(dirname "$0")/siw.sh" rsm_import_rdma
