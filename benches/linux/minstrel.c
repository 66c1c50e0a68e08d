// SPDX-License-Identifier: GPL-2.0-only
// Linux's Minstrel-HT as a program: reads results of attempts, writes the rates for sending.
//
//   minstrel STANDARD STREAMS WIDTH SEED
//       STANDARD: 0 802.11n, 1 ac, 2 ax; WIDTH: 0 20 MHz, 1 40, 2 80, 3 160
//   choose US ATTEMPT    writes the rate of an attempt (from 0) at a frame:
//                        STREAMS WIDTH MCS SAMPLE
//   hear US SENT ACKED   reports the number of its MPDUs, and of the acknowledged ones
#include "kernel.h"

unsigned long jiffies;

#include "minstrel_ht.h"
#include "minstrel_ht.c"

enum { STAGES = IEEE80211_TX_MAX_RATES };

static struct ieee80211_sta_rates *table;
static struct ieee80211_rate bitrates[] = {{0, 60},  {0, 90},  {0, 120}, {0, 180},
                                           {0, 240}, {0, 360}, {0, 480}, {0, 540}};
static struct ieee80211_supported_band band = {bitrates, NL80211_BAND_5GHZ, ARRAY_SIZE(bitrates)};
static struct wiphy wiphy = {{[NL80211_BAND_5GHZ] = &band}};
static struct ieee80211_hw hw = {&wiphy, STAGES};
static struct sta_info station;
static struct minstrel_priv *minstrel;
static struct minstrel_ht_sta *state;

// The frame in progress: its chain, attempts at each stage, and the most recent attempt.
static struct ieee80211_tx_rate chain[STAGES];
static int tries[STAGES], stage = STAGES, last_stage, sent, acked;
static bool is_sample, is_open;

void rate_control_set_rates(struct ieee80211_hw *own, struct ieee80211_sta *sta,
                            struct ieee80211_sta_rates *rates)
{
    free(table);
    table = rates;
}

// Replaces the groups of 802.11ac by those of 802.11ax with a guard interval of 800 ns.
static void use_he(int streams, int width)
{
    static const int tones[] = {234, 468, 980, 1960};
    // Bits of data per tone, in sixths (clause 27.5).
    static const int bits[] = {3, 6, 9, 12, 18, 24, 27, 30, 36, 40, 45, 50};
    memset(state->supported, 0, sizeof(state->supported));
    for (int w = 0; w <= width; w++)
        for (int s = 1; s <= streams; s++) {
            int index = VHT_GROUP_IDX(s, 0, w);
            struct mcs_group *group = &minstrel_mcs_groups[index];
            group->streams = s;
            group->bw = w;
            group->flags = IEEE80211_TX_RC_VHT_MCS | (w & 1 ? IEEE80211_TX_RC_40_MHZ_WIDTH : 0) |
                           (w & 2 ? IEEE80211_TX_RC_80_MHZ_WIDTH : 0);
            double times[ARRAY_SIZE(bits)];
            for (int i = 0; i < ARRAY_SIZE(bits); i++)
                times[i] = 8.0 * AVG_PKT_SIZE * 13600 * 6 / ((double)tones[w] * bits[i] * s);
            for (group->shift = 0; times[0] / (1 << group->shift) > 65535;)
                group->shift++;
            for (int i = 0; i < ARRAY_SIZE(bits); i++)
                group->duration[i] = times[i] / (1 << group->shift);
            state->supported[index] = BIT(ARRAY_SIZE(bits)) - 1;
        }
    minstrel_ht_update_stats(minstrel, state);
    minstrel_ht_update_rates(minstrel, state);
}

static void associate(int standard, int streams, int width)
{
    struct ieee80211_sta *sta = &station.sta;
    sta->deflink.ht_cap.ht_supported = true;
    sta->deflink.bandwidth = width;
    for (int i = 0; i < streams; i++)
        sta->deflink.ht_cap.mcs.rx_mask[i] = 0xff;
    sta->deflink.vht_cap.vht_supported = standard > 0;
// Two bits for each number of streams: 2 means up to MCS 9, 3 not supported.
    for (int i = 0; i < 8; i++)
        sta->deflink.vht_cap.vht_mcs.tx_mcs_map |= (i < streams ? 2 : 3) << 2 * i;
    minstrel = minstrel_ht_alloc(&hw);
    state = minstrel_ht_alloc_sta(minstrel, sta, GFP_ATOMIC);
    minstrel_ht_rate_init(minstrel, &band, NULL, sta, state);
    if (standard == 2)
        use_he(streams, width);
}

static bool is_over(void)
{
    return stage >= STAGES || chain[stage].idx < 0;
}

// Reports the frame in progress, as a driver does when its hardware has finished it.
static void report(void)
{
    struct ieee80211_tx_info info = {0};
    struct ieee80211_tx_status status = {.info = &info};
    if (!is_open)
        return;
    info.flags = (sent > 1 ? IEEE80211_TX_CTL_AMPDU | IEEE80211_TX_STAT_AMPDU : 0) |
                 (acked > 0 ? IEEE80211_TX_STAT_ACK : 0) |
                 (is_sample ? IEEE80211_TX_CTL_RATE_CTRL_PROBE : 0);
    info.status.ampdu_len = sent;
    info.status.ampdu_ack_len = acked;
    for (int i = 0; i < STAGES; i++) {
        info.status.rates[i] = chain[i];
        info.status.rates[i].count = tries[i];
        if (i > last_stage)
            info.status.rates[i].idx = -1;
    }
    minstrel_ht_tx_status(minstrel, &band, state, &status);
    is_open = false;
    stage = STAGES;
}

static void begin_frame(void)
{
    struct sk_buff skb = {0};
    struct ieee80211_tx_rate_control control = {&skb, false};
    minstrel_ht_get_rate(minstrel, &station.sta, state, &control);
    is_sample = skb.info.flags & IEEE80211_TX_CTL_RATE_CTRL_PROBE;
    for (int i = 0; i < STAGES; i++)
        chain[i] = (struct ieee80211_tx_rate){table->rate[i].idx, table->rate[i].count,
                                              table->rate[i].flags};
    if (is_sample)
        chain[0] = skb.info.status.rates[0];
    memset(tries, 0, sizeof(tries));
    stage = 0;
}

static void choose(int attempt)
{
    if (attempt == 0)
        report();
    if (attempt == 0 || is_over())
        begin_frame();
    struct ieee80211_tx_rate *rate = &chain[stage];
    bool is_ht = rate->flags & IEEE80211_TX_RC_MCS;
    int streams = is_ht ? rate->idx / 8 + 1 : ieee80211_rate_get_vht_nss(rate);
    int mcs = is_ht ? rate->idx % 8 : ieee80211_rate_get_vht_mcs(rate);
    int width = (rate->flags & IEEE80211_TX_RC_40_MHZ_WIDTH ? 1 : 0) +
                (rate->flags & IEEE80211_TX_RC_80_MHZ_WIDTH ? 2 : 0);
    printf("%d %d %d %d\n", streams, width, mcs, is_sample);
    fflush(stdout);
}

static void hear(int mpdus, int acknowledged)
{
    sent = mpdus;
    acked = acknowledged;
    last_stage = stage;
    is_open = true;
    if (++tries[stage] >= chain[stage].count)
        stage++;
    if (acked > 0 || is_over())
        report();
}

int main(int argc, char **argv)
{
    char word[16];
    unsigned long us;
    int a, b;
    if (argc != 5) {
        fprintf(stderr, "usage: minstrel STANDARD STREAMS WIDTH SEED\n");
        return 2;
    }
    srand(atoi(argv[4]));
    jiffies = HZ;
    rc80211_minstrel_init();
    associate(atoi(argv[1]), atoi(argv[2]), atoi(argv[3]));
    while (scanf("%15s %lu", word, &us) == 2) {
        jiffies = HZ + us * HZ / 1000000;
        if (!strcmp(word, "choose") && scanf("%d", &a) == 1)
            choose(a);
        else if (!strcmp(word, "hear") && scanf("%d %d", &a, &b) == 2)
            hear(a, b);
        else
            return 2;
    }
    return 0;
}
