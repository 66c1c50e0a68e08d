/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Reno as the watched algorithm of a program. `struct fw_law` has `reno`.
 */
static inline void fw_inner_init(struct fw_law *law, const struct fw_initial *initial)
{
	fw_reno_init(&law->reno, initial);
}

static inline void fw_inner_on_ack(struct fw_law *law, const struct fw_ack *ack)
{
	fw_reno_on_ack(&law->reno, ack);
}

static inline void fw_inner_on_ack_loss(struct fw_law *law)
{
	fw_reno_on_ack_loss(&law->reno, (struct fw_fraction){ 1, 1 });
}

static inline void fw_inner_on_loss(struct fw_law *law, const struct fw_loss *loss)
{
	fw_reno_on_loss(&law->reno, loss);
}

static inline void fw_inner_on_rto(struct fw_law *law, const struct fw_rto *rto)
{
	fw_reno_on_rto(&law->reno, rto);
}

static inline void fw_inner_on_ecn(struct fw_law *law, const struct fw_loss *loss)
{
	fw_reno_on_ecn(&law->reno, loss);
}

static inline void fw_inner_set_mss(struct fw_law *law, u32 mss)
{
	law->reno.mss = mss;
	law->reno.growth.mss = mss;
}

static inline void fw_law_on_spurious(struct fw_law *law)
{
	fw_reno_on_spurious(&law->reno);
}

static inline void fw_law_on_idle_restart(struct fw_law *law, u64 idle)
{
	fw_reno_on_idle_restart(&law->reno);
}

static inline u32 fw_law_cwnd(const struct fw_law *law)
{
	return law->reno.cwnd;
}

static inline u32 fw_law_ssthresh(const struct fw_law *law)
{
	return law->reno.ssthresh;
}
