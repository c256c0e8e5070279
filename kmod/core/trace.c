// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
#include "core/ep/conn.h"

#define CREATE_TRACE_POINTS
#include "core/trace.h"
