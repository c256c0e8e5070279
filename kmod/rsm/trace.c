// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
#include "rsm/rdma.h"

#define CREATE_TRACE_POINTS
#include "rsm/trace.h"
