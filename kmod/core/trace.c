// SPDX-License-Identifier: GPL-2.0
#include "core/conn.h"

#define CREATE_TRACE_POINTS
#include "core/trace.h"
