// SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
/* References of `fairwave cc bench`: algorithms that only call the kernel's, so that one clock
 * measures all. Like ours, each has two programs per ACK; where the kernel has one function, the
 * other does nothing. Only that one counts for fw_b_floor: it measures the cost of a call, on a
 * connection with the same load as the others. */
#include "fw_kernel.h"

#define FW_KERNELS __attribute__((section(".ksyms")))

extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) FW_KERNELS;
extern u32 tcp_reno_ssthresh(struct sock *sk) FW_KERNELS;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) FW_KERNELS;
extern void cubictcp_init(struct sock *sk) FW_KERNELS;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) FW_KERNELS;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) FW_KERNELS;
extern void cubictcp_state(struct sock *sk, u8 new_state) FW_KERNELS;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) FW_KERNELS;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) FW_KERNELS;

FW_SECTION("struct_ops/fw_b_ssthresh") int fw_b_ssthresh(u64 *ctx)
{
	return tcp_reno_ssthresh((struct sock *)ctx[0]);
}

FW_SECTION("struct_ops/fw_b_undo") int fw_b_undo(u64 *ctx)
{
	return tcp_reno_undo_cwnd((struct sock *)ctx[0]);
}

FW_SECTION("struct_ops/fw_b_nothing") int fw_b_nothing(u64 *ctx)
{
	return 0;
}

FW_SECTION("struct_ops/fw_b_reno_avoid") int fw_b_reno_avoid(u64 *ctx)
{
	tcp_reno_cong_avoid((struct sock *)ctx[0], ctx[1], ctx[2]);
	return 0;
}

FW_SECTION("struct_ops/fw_b_cub_avoid") int fw_b_cub_avoid(u64 *ctx)
{
	cubictcp_cong_avoid((struct sock *)ctx[0], ctx[1], ctx[2]);
	return 0;
}

FW_SECTION("struct_ops/fw_b_cub_acked") int fw_b_cub_acked(u64 *ctx)
{
	cubictcp_acked((struct sock *)ctx[0], (const struct ack_sample *)ctx[1]);
	return 0;
}

FW_SECTION("struct_ops/fw_b_cub_init") int fw_b_cub_init(u64 *ctx)
{
	cubictcp_init((struct sock *)ctx[0]);
	return 0;
}

FW_SECTION("struct_ops/fw_b_cub_ssthr") int fw_b_cub_ssthr(u64 *ctx)
{
	return cubictcp_recalc_ssthresh((struct sock *)ctx[0]);
}

FW_SECTION("struct_ops/fw_b_cub_state") int fw_b_cub_state(u64 *ctx)
{
	cubictcp_state((struct sock *)ctx[0], ctx[1]);
	return 0;
}

FW_SECTION("struct_ops/fw_b_cub_event") int fw_b_cub_event(u64 *ctx)
{
	cubictcp_cwnd_event((struct sock *)ctx[0], ctx[1]);
	return 0;
}

FW_SECTION(".struct_ops.link")
struct tcp_congestion_ops fw_b_floor = {
	.name = "fw_b_floor",
	.ssthresh = (void *)fw_b_ssthresh,
	.undo_cwnd = (void *)fw_b_undo,
	.cong_avoid = (void *)fw_b_reno_avoid,
	.pkts_acked = (void *)fw_b_nothing,
};

FW_SECTION(".struct_ops.link")
struct tcp_congestion_ops fw_b_reno = {
	.name = "fw_b_reno",
	.ssthresh = (void *)fw_b_ssthresh,
	.undo_cwnd = (void *)fw_b_undo,
	.cong_avoid = (void *)fw_b_reno_avoid,
	.pkts_acked = (void *)fw_b_nothing,
};

FW_SECTION(".struct_ops.link")
struct tcp_congestion_ops fw_b_cubic = {
	.name = "fw_b_cubic",
	.init = (void *)fw_b_cub_init,
	.ssthresh = (void *)fw_b_cub_ssthr,
	.undo_cwnd = (void *)fw_b_undo,
	.cong_avoid = (void *)fw_b_cub_avoid,
	.set_state = (void *)fw_b_cub_state,
	.cwnd_event = (void *)fw_b_cub_event,
	.pkts_acked = (void *)fw_b_cub_acked,
};

FW_SECTION("license") char fw_licence[] = "Dual MIT/GPL";
