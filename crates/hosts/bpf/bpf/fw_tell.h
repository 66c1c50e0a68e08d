/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Totals of an algorithm's connections, and a ring buffer of events for user space, written only
 * while a listener exists: a connection began, answered lost ACKs, or ended. */
#ifndef FW_TELL_H
#define FW_TELL_H

#include "fw_line.h"

struct {
	FW_UINT(type, BPF_MAP_TYPE_ARRAY);
	FW_UINT(max_entries, 1);
	u32 FW_TYPE(key);
	struct fw_totals FW_TYPE(value);
} fw_totals FW_SECTION(".maps");

FW_INLINE struct fw_totals *fw_the_totals(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&fw_totals, &zero);
}

struct {
	FW_UINT(type, BPF_MAP_TYPE_RINGBUF);
	FW_UINT(max_entries, 256 << 10);
} fw_events FW_SECTION(".maps");

struct {
	FW_UINT(type, BPF_MAP_TYPE_ARRAY);
	FW_UINT(max_entries, 1);
	u32 FW_TYPE(key);
	u64 FW_TYPE(value); /* CLOCK_MONOTONIC in nanoseconds; no listener after it */
} fw_listener FW_SECTION(".maps");

/* Rarely called: it is not inlined, to keep the common path of the programs short. */
static __attribute__((noinline)) int fw_tell(const struct tcp_sock *tp, const struct fw_seen *seen,
					     u32 what)
{
	u32 zero = 0;
	u64 *until = bpf_map_lookup_elem(&fw_listener, &zero);
	struct fw_totals *totals;
	struct fw_event *event;

	if (!until || bpf_ktime_get_ns() >= *until)
		return 0;
	event = bpf_ringbuf_reserve(&fw_events, sizeof(*event), 0);
	if (!event) {
		totals = fw_the_totals();
		if (totals)
			__sync_fetch_and_add(&totals->missed, 1);
		return 0;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->what = what;
	fw_line_of(&event->line, seen, tp, &((const struct sock *)tp)->__sk_common);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

#endif
