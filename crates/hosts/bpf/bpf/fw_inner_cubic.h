/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * CUBIC as the watched algorithm of a program. `struct fw_law` has `cubic`.
 */
static inline void fw_inner_init(struct fw_law *law, const struct fw_initial *initial)
{
	fw_cubic_init(&law->cubic, initial);
}

static inline void fw_inner_on_ack(struct fw_law *law, const struct fw_ack *ack)
{
	fw_cubic_on_ack(&law->cubic, ack);
}

static inline void fw_inner_on_ack_loss(struct fw_law *law)
{
	fw_cubic_on_ack_loss(&law->cubic, (struct fw_fraction){ 1, 1 });
}

static inline void fw_inner_on_loss(struct fw_law *law, const struct fw_loss *loss)
{
	fw_cubic_on_loss(&law->cubic, loss);
}

static inline void fw_inner_on_rto(struct fw_law *law, const struct fw_rto *rto)
{
	fw_cubic_on_rto(&law->cubic, rto);
}

static inline void fw_inner_on_ecn(struct fw_law *law, const struct fw_loss *loss)
{
	fw_cubic_on_ecn(&law->cubic, loss);
}

static inline void fw_inner_set_mss(struct fw_law *law, u32 mss)
{
	law->cubic.reno.mss = mss;
	law->cubic.reno.growth.mss = mss;
	law->cubic.memory.growth.mss = mss;
}

static inline void fw_law_on_spurious(struct fw_law *law)
{
	fw_cubic_on_spurious(&law->cubic);
}

static inline void fw_law_on_idle_restart(struct fw_law *law, u64 idle)
{
	fw_cubic_on_idle_restart(&law->cubic, idle);
}

static inline u32 fw_law_cwnd(const struct fw_law *law)
{
	return law->cubic.reno.cwnd;
}

static inline u32 fw_law_ssthresh(const struct fw_law *law)
{
	return law->cubic.reno.ssthresh;
}
