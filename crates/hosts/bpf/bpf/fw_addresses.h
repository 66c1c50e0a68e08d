/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Addresses of both ends of a socket. */
#ifndef FW_ADDRESSES_H
#define FW_ADDRESSES_H

#include "fw_kernel.h"

/* Four words each, in network order; an IPv4 address sets only the last of them. */
static inline void fw_addresses(u32 *local, u32 *remote, const struct sock_common *common)
{
	if (common->skc_family == AF_INET6) {
		local[0] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[0];
		local[1] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[1];
		local[2] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[2];
		local[3] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[3];
		remote[0] = common->skc_v6_daddr.in6_u.u6_addr32[0];
		remote[1] = common->skc_v6_daddr.in6_u.u6_addr32[1];
		remote[2] = common->skc_v6_daddr.in6_u.u6_addr32[2];
		remote[3] = common->skc_v6_daddr.in6_u.u6_addr32[3];
	} else {
		local[3] = common->skc_rcv_saddr;
		remote[3] = common->skc_daddr;
	}
}

#endif
