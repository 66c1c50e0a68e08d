//! Access points that announce their load, and the estimate that a station makes from it.
//!
//! Nothing of it is the simulator's knowledge. Each access point measures for how much of the time
//! its own carrier sense finds the medium busy, and announces that in its BSS Load element
//! (802.11-2020 clause 9.4.2.27). A station reads the element in a beacon or probe response of its
//! next access point while it scans, or its present access point passes the load on in a neighbour
//! report (clause 9.4.2.36, Measurement Report subelement). It estimates the rest from its own PHY.

use crate::actors::{Actor, Actors, Ids};
use crate::context::Context;
use crate::network::access::Access;
use crate::network::radio::Port;
use crate::world::{Flow, World};
use fairwave_dot11::{ACK_BYTES, Phy};
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Duration, Instant};

/// Load announced by an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Load {
    /// Stations that are associated with it.
    stations: u16,
    /// For how much of the time it found the medium busy, in 255ths.
    utilization: u8,
}

/// Beacon intervals over which an access point measures (dot11ChannelUtilizationBeaconIntervals).
const MEASURED_INTERVALS: u64 = 50;

/// Airtime of an exchange of one frame without contention.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Exchange {
    /// Data frame, SIFS and ACK.
    busy: Duration,
    /// DIFS and a mean backoff of CWmin / 2 slots.
    idle: Duration,
}

impl Load {
    /// Payload rate available to one more station: the larger of the free airtime and an equal
    /// share. Its exchanges are like `exchange` and carry `bytes` each. Fairwave's estimate. The
    /// medium counts as full when it is as busy as one saturated sender makes it: the rest of the
    /// time is DIFS and backoffs, which no further station can have.
    fn share(self, exchange: Exchange, bytes: u32) -> BitRate {
        let (busy, idle) = (exchange.busy.as_secs_f64(), exchange.idle.as_secs_f64());
        let full = busy / (busy + idle);
        let free = 1.0 - f64::from(self.utilization) / 255.0 / full;
        let equal = 1.0 / (f64::from(self.stations) + 1.0);
        let alone = f64::from(8 * bytes) / (busy + idle);
        BitRate((alone * free.max(equal)) as u64)
    }
}

impl Exchange {
    /// The exchange of an IP packet of this length in bytes, sent by `port`.
    fn of(port: &Port, phy: Phy, ip_bytes: u32) -> Self {
        let ack = phy.tx_time(phy.response_mode(port.mode), ACK_BYTES);
        let backoff = Duration::from_nanos(phy.slot().as_nanos() * u64::from(phy.cw_min()) / 2);
        let busy = port.tx_time(phy, ip_bytes) + phy.sifs() + ack;
        Self { busy, idle: phy.difs() + backoff }
    }
}

/// An access point that announces its load.
#[derive(Clone, Copy, Debug)]
struct Announcer {
    ap: NodeId,
    cell: usize,
    every: Duration,
    /// Time for which it had found the medium busy when it measured last.
    busy: Duration,
    /// Content of its beacons.
    load: Option<Load>,
}

impl Announcer {
    /// The access points that stations whose flows ask may come to. One without beacons
    /// announces nothing.
    fn all(world: &World) -> Vec<Self> {
        let asks = |node: NodeId| {
            let here = |flow: &&Flow| flow.source == node || flow.sink == node;
            world.flows.iter().filter(here).any(|flow| flow.traffic.needs_handovers())
        };
        let mut aps: Vec<NodeId> = Vec::new();
        for (i, node) in world.nodes.iter().enumerate() {
            let roaming = node.radio.as_ref().and_then(|radio| radio.roaming.as_ref());
            if let Some(roaming) = roaming.filter(|_| asks(NodeId(i as u32))) {
                aps.extend(&roaming.candidates);
            }
        }
        aps.sort_unstable();
        aps.dedup();
        let announcer = |ap: NodeId| {
            let cell = world.nodes[ap.0 as usize].radio.as_ref()?.cell;
            let interval = world.cells[cell].beacon_interval?.as_nanos();
            let every = Duration::from_nanos(interval * MEASURED_INTERVALS);
            Some(Self { ap, cell, every, busy: Duration::ZERO, load: None })
        };
        aps.into_iter().filter_map(announcer).collect()
    }
}

/// All access points that announce their load.
#[derive(Debug)]
pub(crate) struct Announcers {
    all: Vec<Announcer>,
    ids: Ids,
}

impl Announcers {
    pub(crate) fn new(world: &World, actors: &mut Actors) -> Self {
        let all = Announcer::all(world);
        Self { ids: actors.enlist(all.len(), Actor::Announcer), all }
    }

    /// Sets the first deadlines.
    pub(crate) fn begin(&self, cx: &mut Context<'_>) {
        for (i, announcer) in self.all.iter().enumerate() {
            cx.set(self.ids, i, Some(Instant::ZERO + announcer.every));
        }
    }

    /// An access point has measured its load, and announces it from now on.
    pub(crate) fn measure(&mut self, i: usize, access: &Access<'_>, cx: &mut Context<'_>) {
        let announcer = &mut self.all[i];
        let busy = access.radios.medium_busy(announcer.ap, cx.now).unwrap_or_default();
        let every = announcer.every;
        let share = busy.saturating_sub(announcer.busy).as_secs_f64() / every.as_secs_f64();
        let utilization = (255.0 * share).round().min(255.0) as u8;
        announcer.busy = busy;
        announcer.load = Some(Load { stations: access.associated(announcer.ap), utilization });
        cx.set(self.ids, i, Some(cx.now + every));
    }

    /// The rate that a station may hope for at an access point for packets of this number of bytes
    /// with their headers, and as payload; `None` where that announces nothing.
    pub(crate) fn share(
        &self,
        port: &Port,
        ap: NodeId,
        ip_bytes: u32,
        payload_bytes: u32,
        world: &World,
    ) -> Option<BitRate> {
        let announcer = self.all.iter().find(|announcer| announcer.ap == ap)?;
        let exchange = Exchange::of(port, world.cells[announcer.cell].phy, ip_bytes);
        Some(announcer.load?.share(exchange, payload_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 802.11b at 11 Mbps with long preambles, and 1000 bytes of payload that make an MPDU of
    /// 1064: 192 + 773.8 us of data, 10 of SIFS, 248 of ACK at 2 Mbps, 50 of DIFS, 310 of backoff.
    const EXCHANGE: Exchange =
        Exchange { busy: Duration::from_nanos(1_223_800), idle: Duration::from_micros(360) };

    fn mbps(stations: u16, utilization: u8) -> f64 {
        Load { stations, utilization }.share(EXCHANGE, 1000).as_mbps_f64()
    }

    /// Alone: 8000 bits in 1583.8 us are 5.051 Mbps. Full is at 1223.8 / 1583.8 = 0.7727 of the
    /// time, 197 of 255: from there on only the equal share is left.
    #[test]
    fn a_station_may_hope_for_what_is_free_or_for_its_equal_share() {
        assert!((mbps(0, 0) - 5.051).abs() < 0.001, "{}", mbps(0, 0));
        assert!((mbps(9, 230) - 0.5051).abs() < 0.001, "{}", mbps(9, 230));
        assert!((mbps(9, 198) - 0.5051).abs() < 0.001, "{}", mbps(9, 198));
        // A quarter of the time: 1 - 0.2510 / 0.7727 = 0.6752 of 5.051.
        assert!((mbps(9, 64) - 3.410).abs() < 0.002, "{}", mbps(9, 64));
    }
}
