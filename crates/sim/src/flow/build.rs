//! From the world's description of a flow to its transport.

use super::datagrams::Datagrams;
use super::dccp::Dccp;
use super::feed::Feed;
use super::multi::MultiTcp;
use super::ports::ports;
use super::probe::Probe;
use super::rtc::Rtc;
use super::shake::Shake;
use super::tcp::{Tcp, check_law};
use super::transport::Transport;
use super::web::Web;
use crate::Error;
use crate::world::{Flow, Traffic};
use fairwave_trace::FlowId;
use fairwave_traffic::Source;
use fairwave_units::Seed;

/// `paced_by` is the link that paces a saturating source, where one does.
pub(super) fn transport(
    id: FlowId,
    flow: &Flow,
    paced: Option<&Source>,
    seed: Seed,
) -> Result<Box<dyn Transport>, Error> {
    let name = &flow.name;
    let random = || seed.stream(&format!("traffic/{name}"));
    Ok(match (&flow.traffic, paced) {
        (Traffic::Tcp(tcp), _) => {
            check_law(name, &tcp.congestion_control)?;
            let isn = seed.stream(&format!("isn/{name}"));
            let feed = |source| Feed::new(source, flow.start, random());
            Box::new(Tcp::new(id, tcp, tcp.source.as_ref().map(feed), isn))
        }
        (Traffic::Web(web), _) => {
            check_law(name, &web.tcp.congestion_control)?;
            Box::new(Web::new(id, name, web, seed))
        }
        (Traffic::Probe(probe), _) => Box::new(Probe::new(ports(id), flow, probe, seed)),
        (Traffic::Datagrams(source), _) if flow.playout.is_some() => {
            let feed = Feed::new(source, flow.start, random());
            Box::new(Datagrams::framed(ports(id), feed))
        }
        (Traffic::Rtc(rtc), _) => {
            let feed = Feed::new(&rtc.source, flow.start, random());
            let ids = seed.stream(&format!("rtp/{name}"));
            Box::new(Rtc::new(ports(id), rtc, feed, ids))
        }
        (Traffic::Dccp(dccp), _) => Box::new(Dccp::new(id, name, dccp, flow.start, seed)),
        (Traffic::Shake(shake), _) => Box::new(Shake::new(id, name, shake, flow.start, seed)),
        (Traffic::MultiTcp(multi), _) => {
            check_law(name, &multi.tcp.congestion_control)?;
            Box::new(MultiTcp::new(id, name, multi, seed))
        }
        (Traffic::Datagrams(source), _) | (Traffic::Saturate { .. }, Some(source)) => {
            let datagrams = Datagrams::timed(ports(id), source, flow.start, random());
            Box::new(datagrams)
        }
        (Traffic::Saturate { payload_bytes }, None) => {
            Box::new(Datagrams::saturating(ports(id), *payload_bytes))
        }
    })
}
