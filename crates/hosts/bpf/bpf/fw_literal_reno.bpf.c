// SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
/* Reno that reduces its window for lost ACKs as the paper writes it, for receivers that acknowledge
 * each segment: cc's `ack-loss-literal+reno`. */
#define FW_LAW "fw_literal_reno"
#define FW_LITERAL
#include "fw_reno.h"
#include "fw_watch.h"

struct fw_law {
	struct fw_reno reno;
	struct fw_watch watch;
};

#include "fw_watched.h"

#include "fw_inner_reno.h"
