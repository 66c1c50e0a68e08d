// SPDX-License-Identifier: GPL-2.0-only
// The parts of the kernel that rc80211_minstrel_ht.c uses.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef uint16_t __le16;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int gfp_t;

#define __init
#define __read_mostly
#define unlikely(x) (x)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BIT(n) (1UL << (n))
#define GENMASK(h, l) ((~0UL << (l)) & (~0UL >> (63 - (h))))
#define FIELD_PREP(mask, v) (((u64)(v) << __builtin_ctzl(mask)) & (mask))
#define FIELD_GET(mask, v) (((u64)(v) & (mask)) >> __builtin_ctzl(mask))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(t, a, b) min((t)(a), (t)(b))
#define WARN_ON(x) (x)
#define BUILD_BUG_ON(x)
#define module_param(name, type, mode)
#define MODULE_PARM_DESC(name, text)
#define le16_to_cpu(x) (x)
#define cpu_to_le16(x) ((u16)(x))
#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))
#define GFP_ATOMIC 0
#define kzalloc(bytes, flags) calloc(1, bytes)
#define kfree(p) free(p)

#define HZ 250
extern unsigned long jiffies;
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_is_after_jiffies(a) time_after(a, jiffies)

static inline void get_random_bytes(void *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((u8 *)to)[i] = rand() >> 8;
}

enum nl80211_band { NL80211_BAND_2GHZ, NL80211_BAND_5GHZ, NUM_NL80211_BANDS };
enum { IEEE80211_STA_RX_BW_20, IEEE80211_STA_RX_BW_40, IEEE80211_STA_RX_BW_80 };
enum { IEEE80211_SMPS_OFF, IEEE80211_SMPS_STATIC, IEEE80211_SMPS_DYNAMIC };
enum {
    IEEE80211_VHT_MCS_SUPPORT_0_7,
    IEEE80211_VHT_MCS_SUPPORT_0_8,
    IEEE80211_VHT_MCS_SUPPORT_0_9
};
enum { RATE_INFO_BW_40 = 2, RATE_INFO_BW_80 = 3 };
enum { WLAN_STA_SHORT_PREAMBLE };

// Flags of a rate.
#define IEEE80211_TX_RC_USE_RTS_CTS BIT(0)
#define IEEE80211_TX_RC_USE_SHORT_PREAMBLE BIT(2)
#define IEEE80211_TX_RC_MCS BIT(3)
#define IEEE80211_TX_RC_40_MHZ_WIDTH BIT(5)
#define IEEE80211_TX_RC_SHORT_GI BIT(7)
#define IEEE80211_TX_RC_VHT_MCS BIT(8)
#define IEEE80211_TX_RC_80_MHZ_WIDTH BIT(9)
#define IEEE80211_TX_RC_160_MHZ_WIDTH BIT(10)
#define RATE_INFO_FLAGS_MCS BIT(0)
#define RATE_INFO_FLAGS_VHT_MCS BIT(1)
#define RATE_INFO_FLAGS_SHORT_GI BIT(2)
#define IEEE80211_RATE_SHORT_PREAMBLE BIT(0)
#define IEEE80211_RATE_ERP_G BIT(3)
// Flags of a frame.
#define IEEE80211_TX_CTL_NO_ACK BIT(1)
#define IEEE80211_TX_CTL_AMPDU BIT(6)
#define IEEE80211_TX_STAT_ACK BIT(9)
#define IEEE80211_TX_STAT_AMPDU BIT(10)
#define IEEE80211_TX_CTL_RATE_CTRL_PROBE BIT(12)
#define IEEE80211_TX_CTL_LDPC BIT(22)
#define IEEE80211_TX_CTL_STBC_SHIFT 23
#define IEEE80211_TX_CTRL_PORT_CTRL_PROTO BIT(0)
// Capabilities.
#define IEEE80211_HT_CAP_LDPC_CODING BIT(0)
#define IEEE80211_HT_CAP_SGI_20 BIT(5)
#define IEEE80211_HT_CAP_SGI_40 BIT(6)
#define IEEE80211_HT_CAP_RX_STBC 0x300
#define IEEE80211_HT_CAP_RX_STBC_SHIFT 8
#define IEEE80211_VHT_CAP_RXLDPC BIT(4)
#define IEEE80211_VHT_CAP_SHORT_GI_80 BIT(5)
#define IEEE80211_VHT_CAP_RXSTBC_MASK 0x700
#define IEEE80211_VHT_CAP_RXSTBC_SHIFT 8
#define IEEE80211_MAX_MPDU_LEN_HT_BA 4095
#define IEEE80211_TX_MAX_RATES 4
#define IEEE80211_TX_RATE_TABLE_SIZE 4
#define RATE_CTRL_CAPA_AMPDU_TRIGGER 1

struct rate_info { u16 flags, legacy; u8 mcs, nss, bw; };
struct ieee80211_rate_status { struct rate_info rate_idx; u8 try_count; };
struct ieee80211_tx_rate { s8 idx; u16 count, flags; };
struct ieee80211_tx_info {
    u32 flags;
    struct { u32 flags; } control;
// The kernel uses bytes for the lengths, but 802.11ax has A-MPDUs of 256 MPDUs.
    struct {
        struct ieee80211_tx_rate rates[IEEE80211_TX_MAX_RATES];
        u16 ampdu_ack_len, ampdu_len;
    } status;
};
struct sk_buff { struct ieee80211_tx_info info; };
#define IEEE80211_SKB_CB(skb) (&(skb)->info)
struct ieee80211_rate { u32 flags; u16 bitrate; };
struct ieee80211_supported_band {
    struct ieee80211_rate *bitrates;
    enum nl80211_band band;
    int n_bitrates;
};
struct wiphy { struct ieee80211_supported_band *bands[NUM_NL80211_BANDS]; };
struct cfg80211_chan_def { int unused; };
struct ieee80211_hw {
    struct wiphy *wiphy;
    int max_rates, max_rate_tries;
    struct { struct cfg80211_chan_def chandef; } conf;
};
struct ieee80211_mcs_info { u8 rx_mask[10]; };
struct ieee80211_sta_vht_cap { bool vht_supported; u32 cap; struct { u16 tx_mcs_map; } vht_mcs; };
struct ieee80211_sta {
    struct {
        struct { bool ht_supported; u16 cap; struct ieee80211_mcs_info mcs; } ht_cap;
        struct ieee80211_sta_vht_cap vht_cap;
        int bandwidth, smps_mode;
        struct { int max_rc_amsdu_len; } agg;
    } deflink;
};
struct ieee80211_sta_rates {
    struct {
        s8 idx;
        u8 count, count_cts, count_rts;
        u16 flags;
    } rate[IEEE80211_TX_RATE_TABLE_SIZE];
};
struct ieee80211_sub_if_data { struct { struct { bool use_short_preamble; } bss_conf; } vif; };
struct sta_info { struct ieee80211_sub_if_data *sdata; struct ieee80211_sta sta; };
struct ieee80211_tx_status {
    struct ieee80211_tx_info *info;
    struct ieee80211_rate_status *rates;
    int n_rates;
};
struct ieee80211_tx_rate_control { struct sk_buff *skb; bool short_preamble; };
struct rate_control_ops {
    const char *name;
    int capa;
    void (*tx_status_ext)(void *, struct ieee80211_supported_band *, void *,
                          struct ieee80211_tx_status *);
    void (*get_rate)(void *, struct ieee80211_sta *, void *,
                     struct ieee80211_tx_rate_control *);
    void (*rate_init)(void *, struct ieee80211_supported_band *, struct cfg80211_chan_def *,
                      struct ieee80211_sta *, void *);
    void (*rate_update)(void *, struct ieee80211_supported_band *, struct cfg80211_chan_def *,
                        struct ieee80211_sta *, void *, u32);
    void *(*alloc_sta)(void *, struct ieee80211_sta *, gfp_t);
    void (*free_sta)(void *, struct ieee80211_sta *, void *);
    void *(*alloc)(struct ieee80211_hw *);
    void (*free)(void *);
    u32 (*get_expected_throughput)(void *);
};

#define ieee80211_hw_check(hw, flag) 0
#define ieee80211_chandef_get_shift(chandef) 0
#define ieee80211_chandef_rate_flags(chandef) 0
#define ieee80211_rate_control_register(ops) 0
#define ieee80211_rate_control_unregister(ops)
#define ieee80211_sta_recalc_aggregates(sta)
#define rate_lowest_index(band, sta) 0
#define rate_supported(sta, band, index) 1
#define test_sta_flag(sta, flag) false

static inline void ieee80211_rate_set_vht(struct ieee80211_tx_rate *rate, u8 mcs, u8 nss)
{
    rate->idx = (nss - 1) << 4 | mcs;
}

static inline u8 ieee80211_rate_get_vht_mcs(const struct ieee80211_tx_rate *rate)
{
    return rate->idx & 15;
}

static inline u8 ieee80211_rate_get_vht_nss(const struct ieee80211_tx_rate *rate)
{
    return (rate->idx >> 4) + 1;
}

// Duration in microseconds of a frame of 802.11a (clause 17.4.3) after SIFS; the rate in 100 kbps.
static inline int ieee80211_frame_duration(int band, size_t bytes, int rate, int erp,
                                           int short_preamble, int shift)
{
    int bits = 16 + 8 * (bytes + 4) + 6;
    return 16 + 20 + 4 * DIV_ROUND_UP(bits * 10, 4 * rate);
}

void rate_control_set_rates(struct ieee80211_hw *hw, struct ieee80211_sta *sta,
                            struct ieee80211_sta_rates *rates);
