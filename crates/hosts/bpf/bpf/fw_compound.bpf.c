// SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
/* Compound TCP: cc's `compound`. */
#define FW_LAW "fw_compound"
#include "fw_compound.h"

struct fw_law {
	struct fw_compound compound;
};

#include "fw_glue.h"
#include "fw_inner_compound.h"

static inline void fw_law_init(struct fw_connection *c, struct tcp_sock *tp,
			       const struct fw_initial *initial)
{
	fw_inner_init(&c->law, initial);
}

static inline void fw_law_on_ack(struct fw_connection *c, struct tcp_sock *tp,
				 const struct fw_ack *ack)
{
	fw_inner_on_ack(&c->law, ack);
}

static inline void fw_law_on_loss(struct fw_law *law, const struct fw_loss *loss)
{
	fw_inner_on_loss(law, loss);
}

static inline void fw_law_on_rto(struct fw_law *law, const struct fw_rto *rto)
{
	fw_inner_on_rto(law, rto);
}

static inline void fw_law_on_ecn(struct fw_law *law, const struct fw_loss *loss)
{
	fw_inner_on_ecn(law, loss);
}

static inline void fw_law_set_mss(struct fw_law *law, u32 mss)
{
	fw_inner_set_mss(law, mss);
}
