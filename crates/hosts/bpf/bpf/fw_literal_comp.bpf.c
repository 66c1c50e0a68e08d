// SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
/* Compound TCP that reduces its window for lost ACKs as the paper writes it, for receivers that
 * acknowledge each segment: cc's `ack-loss-literal+compound`. */
/* The kernel truncates the requested name fw_literal_compound to 15 characters. */
#define FW_LAW "fw_literal_comp"
#define FW_LITERAL
#include "fw_compound.h"
#include "fw_watch.h"

struct fw_law {
	struct fw_compound compound;
	struct fw_watch watch;
};

#include "fw_watched.h"

#include "fw_inner_compound.h"
