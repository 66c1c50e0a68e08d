// SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
/* Compound TCP that reduces its window for lost ACKs: cc's `ack-loss-timestamps+compound`. */
#define FW_LAW "fw_ackloss_comp"
#include "fw_compound.h"
#include "fw_echo.h"
#include "fw_watch.h"

struct fw_law {
	struct fw_compound compound;
	struct fw_echo echo;
	struct fw_watch watch;
	struct fw_notes notes;
};

#include "fw_watched.h"

#include "fw_inner_compound.h"
