//! Log of a server: a line for each probe, which consists of many sessions in turn.

use crate::ServerEvent;
use fairwave_units::{Duration, Instant};
use fairwave_wire::probe::Limits;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Time between two sessions of a host from which they are of two probes: a client begins the next
/// session at once.
const GAP: Duration = Duration::from_secs(2);

/// Hosts that probe, with their open sessions and the time of their last event.
#[derive(Debug, Default)]
pub(crate) struct ServerLog(BTreeMap<IpAddr, Sessions>);

#[derive(Debug, Default)]
struct Sessions {
    open: u32,
    at: Instant,
}

impl ServerLog {
    /// Takes an event; returns the line of a probe that begins.
    pub(crate) fn line(&mut self, now: Instant, event: ServerEvent) -> Option<String> {
        self.0.retain(|_, sessions| sessions.open > 0 || now.since(sessions.at) < GAP);
        match event {
            ServerEvent::Agreed(who, Limits { rate, packets, duration }) => {
                let is_new = !self.0.contains_key(&who.ip());
                let sessions = self.0.entry(who.ip()).or_default();
                (sessions.open, sessions.at) = (sessions.open + 1, now);
                is_new.then(|| {
                    let host = who.ip().to_canonical();
                    format!(
                        "{host} probes; each session has at most {rate}, {packets} packets, \
                         {duration}\n"
                    )
                })
            }
            ServerEvent::Ended(who) => {
                let sessions = self.0.get_mut(&who.ip())?;
                (sessions.open, sessions.at) = (sessions.open.saturating_sub(1), now);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::BitRate;

    #[test]
    fn a_probe_of_many_sessions_is_a_line() {
        let limits =
            Limits { rate: BitRate::mbps(20), packets: 7, duration: Duration::from_secs(120) };
        let agreed = |host: &str| ServerEvent::Agreed(host.parse().unwrap(), limits);
        let ended = |host: &str| ServerEvent::Ended(host.parse().unwrap());
        let (a, again, b) = ("10.0.0.7:1", "10.0.0.7:2", "[::ffff:10.0.0.8]:1");
        let mut log = ServerLog::default();
        let mut lines =
            |ms: u64, event| log.line(Instant::ZERO + Duration::from_millis(ms), event).is_some();
        assert!(lines(0, agreed(a)));
        assert!(lines(10, agreed(b)));
        // Sessions of one probe overlap, last long or follow each other.
        assert!(!lines(20, agreed(again)));
        assert!(!lines(30, ended(a)));
        assert!(!lines(60_000, ended(again)));
        assert!(!lines(61_000, agreed(a)));
        assert!(!lines(62_000, ended(a)));
        assert!(lines(65_000, agreed(a)));
    }
}
