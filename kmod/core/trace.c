// SPDX-License-Identifier: GPL-2.0
#include "core/dat.h"

#define CREATE_TRACE_POINTS
#include "core/trace.h"
