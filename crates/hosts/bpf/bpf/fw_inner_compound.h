/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Compound TCP as the algorithm of a program, watched or not. `struct fw_law` has `compound`.
 */
static inline void fw_inner_init(struct fw_law *law, const struct fw_initial *initial)
{
	fw_compound_init(&law->compound, initial);
}

static inline void fw_inner_on_ack(struct fw_law *law, const struct fw_ack *ack)
{
	fw_compound_on_ack(&law->compound, ack);
}

static inline void fw_inner_on_ack_loss(struct fw_law *law)
{
	fw_compound_on_ack_loss(&law->compound, (struct fw_fraction){ 1, 1 });
}

static inline void fw_inner_on_loss(struct fw_law *law, const struct fw_loss *loss)
{
	fw_compound_on_loss(&law->compound, loss);
}

static inline void fw_inner_on_rto(struct fw_law *law, const struct fw_rto *rto)
{
	fw_compound_on_rto(&law->compound, rto);
}

static inline void fw_inner_on_ecn(struct fw_law *law, const struct fw_loss *loss)
{
	fw_compound_on_ecn(&law->compound, loss);
}

static inline void fw_inner_set_mss(struct fw_law *law, u32 mss)
{
	law->compound.mss = mss;
	law->compound.growth.mss = mss;
}

static inline void fw_law_on_spurious(struct fw_law *law)
{
	fw_compound_on_spurious(&law->compound);
}

static inline void fw_law_on_idle_restart(struct fw_law *law, u64 idle)
{
	fw_compound_on_idle_restart(&law->compound);
}

static inline u32 fw_law_cwnd(const struct fw_law *law)
{
	return fw_compound_cwnd(&law->compound);
}

static inline u32 fw_law_ssthresh(const struct fw_law *law)
{
	return law->compound.windows.ssthresh;
}
