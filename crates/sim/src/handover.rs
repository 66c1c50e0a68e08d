//! What the MAC of a roaming station tells transports that ask, and from where it knows.
//!
//! A transport may hear that its station leaves an access point and that it has come to another,
//! and which rate it may hope for there. Nothing of that is the simulator's knowledge: access
//! points announce their load as 802.11-2020 clause 9.4.2.27 has it (BSS Load element), stations
//! read the announcement, and reckon the rest from their own PHY.

use crate::flow::End;
use crate::radio::Port;
use crate::simulator::{Actor, Simulator};
use crate::world::{Flow, Node, Role, World};
use fairwave_dot11::channel::RadioId;
use fairwave_dot11::{ACK_BYTES, Phy};
use fairwave_trace::{NodeId, Sink};
use fairwave_units::{BitRate, Duration, Instant};

/// What happens to a station; `share` is the rate of its flow's payload that it may hope for at
/// the new access point, `None` where that has not announced its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// It leaves its access point, and has none for now. It chose the new one by its beacons, and
    /// so knows the load.
    Leaves { share: Option<BitRate> },
    /// It is associated with the new one.
    Arrives { share: Option<BitRate> },
}

/// What an access point announces of its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// Stations that are associated with it.
    pub(crate) stations: u16,
    /// For how much of the time it found the medium busy, in 255ths.
    pub(crate) utilization: u8,
}

/// Beacon intervals over which an access point measures (dot11ChannelUtilizationBeaconIntervals).
const MEASURED_INTERVALS: u64 = 50;

/// What an exchange of one frame takes of the medium when nobody contends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Exchange {
    /// Data frame, SIFS and ACK.
    busy: Duration,
    /// DIFS and a mean backoff of CWmin / 2 slots.
    idle: Duration,
}

impl Load {
    /// The rate of payload that one station more may hope for, whose exchanges are like
    /// `exchange` and carry `bytes` each: what is free, or its part of what all share equally.
    /// Fairwave's reckoning. The medium counts as full when it is as busy as one saturated sender
    /// makes it: the rest of the time is DIFS and backoffs, which no further station can have.
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
    /// That of an IP packet of so many bytes.
    fn of(port: &Port, phy: Phy, ip_bytes: u32) -> Self {
        let ack = phy.tx_time(phy.response_mode(port.mode), ACK_BYTES);
        let backoff = Duration::from_nanos(phy.slot().as_nanos() * u64::from(phy.cw_min()) / 2);
        let busy = port.tx_time(phy, ip_bytes) + phy.sifs() + ack;
        Self { busy, idle: phy.difs() + backoff }
    }
}

/// An access point that announces its load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announcer {
    ap: NodeId,
    cell: usize,
    every: Duration,
    /// Time on the air of all on its channel when it measured last.
    airtime: Duration,
    /// What its beacons say.
    load: Option<Load>,
}

impl Announcer {
    /// The access points that stations whose flows ask may come to. One without beacons
    /// announces nothing.
    pub(crate) fn all(world: &World) -> Vec<Self> {
        let asks = |node: NodeId| {
            let here = |flow: &&Flow| flow.source == node || flow.sink == node;
            world.flows.iter().filter(here).any(|flow| flow.traffic.asks_for_handovers())
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
            Some(Self { ap, cell, every, airtime: Duration::ZERO, load: None })
        };
        aps.into_iter().filter_map(announcer).collect()
    }

    pub(crate) fn first_deadline(&self) -> Instant {
        Instant::ZERO + self.every
    }
}

impl Simulator<'_> {
    /// An access point has measured its load, and announces it from now on.
    pub(crate) fn run_announcer(&mut self, i: usize) {
        let Announcer { ap, cell, every, airtime: before, .. } = self.announcers[i];
        let channel = &self.cells[cell].channel;
        let radios = 0..self.cells[cell].nodes.len() as u32;
        let stats = radios.map(|radio| channel.stats(RadioId(radio)));
        let airtime: Duration = stats
            .map(|s| s.airtime + s.control_airtime)
            .fold(Duration::ZERO, |sum, more| sum + more);
        // Frames that overlap are counted twice, where an access point would count them once.
        let busy = (airtime.saturating_sub(before)).as_secs_f64() / every.as_secs_f64();
        let utilization = (255.0 * busy).round().min(255.0) as u8;
        let stations = self.associated(ap);
        let announcer = &mut self.announcers[i];
        announcer.airtime = airtime;
        announcer.load = Some(Load { stations, utilization });
        self.set_deadline(Actor::Announcer(i), Some(self.now + every));
    }

    /// Stations that are associated with an access point.
    fn associated(&self, ap: NodeId) -> u16 {
        let is_here = |(i, node): (usize, &Node)| {
            let role = node.radio.as_ref().map(|radio| radio.role);
            match (self.roams[i], role) {
                (Some(roamer), _) => self.roamers[roamer].is_with(ap),
                (None, Some(Role::Station { ap: own })) => own == ap,
                (None, _) => false,
            }
        };
        self.world.nodes.iter().enumerate().filter(|&node| is_here(node)).count() as u16
    }

    /// Tells the flows of a roaming station that ask what happens to it; `new_ap` is where it
    /// goes or has come to.
    pub(crate) fn notify(
        &mut self,
        node: NodeId,
        new_ap: NodeId,
        notice: impl Fn(Option<BitRate>) -> Notice,
        sink: &mut dyn Sink,
    ) {
        for flow in 0..self.flows.len() {
            let Flow { source, sink: to, traffic, .. } = &self.world.flows[flow];
            if (*source == node || *to == node) && traffic.asks_for_handovers() {
                let end = if *source == node { End::Source } else { End::Sink };
                let notice = notice(self.share(node, new_ap, flow));
                self.flows[flow].notice(end, notice, self.now);
                self.flush_after(flow, end, sink);
            }
        }
    }

    /// The rate that a flow of `node` may hope for at an access point, as far as that announces.
    fn share(&self, node: NodeId, ap: NodeId, flow: usize) -> Option<BitRate> {
        let announcer = self.announcers.iter().find(|announcer| announcer.ap == ap)?;
        let port = self.ports[node.0 as usize].as_ref()?;
        let (ip_bytes, payload_bytes) = self.flows[flow].usual_bytes()?;
        let exchange = Exchange::of(port, self.world.cells[announcer.cell].phy, ip_bytes);
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
