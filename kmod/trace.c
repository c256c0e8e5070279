// SPDX-License-Identifier: GPL-2.0
#include "dat.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
