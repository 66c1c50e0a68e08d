//! What carries a flow, and the ports that it has.

use super::datagrams::Datagrams;
use super::dccp::Dccp;
use super::feed::Feed;
use super::multi::MultiTcp;
use super::probe::Probe;
use super::rtc::Rtc;
use super::shake::Shake;
use super::tcp::{Tcp, check_law};
use super::web::Web;
use crate::Error;
use crate::world::{Flow, Traffic};
use fairwave_trace::FlowId;
use fairwave_traffic::Source;
use fairwave_units::Seed;

/// First port of servers. Ports of both ends are dynamic ones (RFC 6335 section 6) to which
/// dissectors of captures attach no protocol, so that none reads a meaning into the payload
/// pattern.
const FIRST_PORT: u16 = 60_100;
/// First port of clients, likewise.
pub(super) const FIRST_CLIENT_PORT: u16 = 50_000;
/// Ports for each end.
pub(super) const PORTS: u32 = 4_000;

#[derive(Debug)]
pub(super) enum TransportState {
    Tcp(Box<Tcp>),
    Datagrams(Box<Datagrams>),
    Web(Box<Web>),
    Probe(Box<Probe>),
    Dccp(Box<Dccp>),
    Rtc(Box<Rtc>),
    Shake(Box<Shake>),
    MultiTcp(Box<MultiTcp>),
}

/// Ports of a flow's client and server: no two flows have the same pair, up to 16 million.
pub(crate) fn ports(id: FlowId) -> (u16, u16) {
    let (client, server) = (id.0 % PORTS, (id.0 % PORTS + id.0 / PORTS) % PORTS);
    (FIRST_CLIENT_PORT + client as u16, FIRST_PORT + server as u16)
}

impl TransportState {
    /// `paced_by` is the link that paces a saturating source, where one does.
    pub(super) fn new(
        id: FlowId,
        flow: &Flow,
        paced: Option<&Source>,
        seed: Seed,
    ) -> Result<Self, Error> {
        let name = &flow.name;
        let random = || seed.stream(&format!("traffic/{name}"));
        Ok(match (&flow.traffic, paced) {
            (Traffic::Tcp(tcp), _) => {
                check_law(name, &tcp.congestion_control)?;
                let isn = seed.stream(&format!("isn/{name}"));
                let feed = |source| Feed::new(source, flow.start, random());
                Self::Tcp(Box::new(Tcp::new(id, tcp, tcp.source.as_ref().map(feed), isn)))
            }
            (Traffic::Web(web), _) => {
                check_law(name, &web.tcp.congestion_control)?;
                Self::Web(Box::new(Web::new(id, name, web, seed)))
            }
            (Traffic::Probe(probe), _) => {
                Self::Probe(Box::new(Probe::new(ports(id), flow, probe, seed)))
            }
            (Traffic::Datagrams(source), _) if flow.playout.is_some() => {
                let feed = Feed::new(source, flow.start, random());
                Self::Datagrams(Box::new(Datagrams::framed(ports(id), feed)))
            }
            (Traffic::Rtc(rtc), _) => {
                let feed = Feed::new(&rtc.source, flow.start, random());
                let ids = seed.stream(&format!("rtp/{name}"));
                Self::Rtc(Box::new(Rtc::new(ports(id), rtc, feed, ids)))
            }
            (Traffic::Dccp(dccp), _) => {
                Self::Dccp(Box::new(Dccp::new(id, name, dccp, flow.start, seed)))
            }
            (Traffic::Shake(shake), _) => {
                Self::Shake(Box::new(Shake::new(id, name, shake, flow.start, seed)))
            }
            (Traffic::MultiTcp(multi), _) => {
                check_law(name, &multi.tcp.congestion_control)?;
                Self::MultiTcp(Box::new(MultiTcp::new(id, name, multi, seed)))
            }
            (Traffic::Datagrams(source), _) | (Traffic::Saturate { .. }, Some(source)) => {
                let datagrams = Datagrams::timed(ports(id), source, flow.start, random());
                Self::Datagrams(Box::new(datagrams))
            }
            (Traffic::Saturate { payload_bytes }, None) => {
                Self::Datagrams(Box::new(Datagrams::saturating(ports(id), *payload_bytes)))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_flows_share_their_ports() {
        let pairs: BTreeSet<_> = (0..20_000).map(|i| ports(FlowId(i))).collect();
        assert_eq!(pairs.len(), 20_000);
        assert_eq!(ports(FlowId(7)), (50_007, 60_107));
        assert_eq!(ports(FlowId(4_000)), (50_000, 60_101));
    }
}
