//! Reports of stations behind a router.
//!
//! Such a station is known by the address that its datagrams come from, once a token shows that it
//! receives there. Whoever has the key of a station can so move the weight of no address that is
//! not his own. An address is that of the station that showed a token first, for as long as that
//! one is served.

use super::AccessPoint;
use super::facts::{Action, Decision, Reach, Routed};
use super::greeting::notice;
use crate::table::{ReceivedFrame, Refusal};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::routed::{self, Reply, Token};
use fairwave_wire::soc::{self, Claim, Greeting};
use std::net::{IpAddr, SocketAddr};

/// A token counts until the end of the minute after the one in which it was made.
const MINUTE: Duration = Duration::from_secs(60);
/// Purpose of the token's key.
const LABEL: &str = "soc token";

impl AccessPoint {
    /// Takes a datagram.
    pub(super) fn take_datagram(&mut self, now: Instant, datagram: &Routed) {
        if let Err((from, why)) = self.admit(now, datagram) {
            self.counters.strangers_refused[why as usize] += 1;
            if let Some(from) = from {
                self.events.push_back(Decision::Refused { from, why });
            }
        }
    }

    /// Reads a datagram whose address is its sender's; answers another with a token. Returns the
    /// refusal, with the station where it is known.
    fn admit(&mut self, now: Instant, datagram: &Routed) -> Result<(), (Option<Mac>, Refusal)> {
        let malformed = |_| (None, Refusal::Malformed);
        let split = routed::split(datagram.payload());
        let (report, token) = split.map_err(|_| (None, Refusal::Truncated))?;
        if Greeting::is_meant(&report) {
            self.config.tokens.as_ref().ok_or((None, Refusal::Unknown))?;
            let greeting = self.understand(now, &report).map_err(|why| {
                let notice = notice(why, &report);
                self.actions.extend(notice.map(|notice| Action::Reply {
                    station: notice.station,
                    to: datagram.from,
                    payload: notice.bytes(),
                }));
                (None, why)
            })?;
            self.counters.challenges += 1;
            self.reply(now, greeting.station, greeting.sequence, datagram.from, false);
            return Ok(());
        }
        let (claim, _) = soc::parse(&report).map_err(malformed)?;
        let (station, address) = (claim.station(), datagram.from.ip());
        let refused = |why| (Some(station), why);
        if !self.counts(now, address, station, token).map_err(refused)? {
            return self.challenge(now, datagram.from, &claim).map_err(refused);
        }
        let owner = self.addresses.get(&address).filter(|owner| **owner != station);
        if owner.is_some() {
            return Err(refused(Refusal::WrongAddress));
        }
        self.report(now, &ReceivedFrame::new(station, &report), Some(datagram.from));
        Ok(())
    }

    /// Whether a token is one that was sent there.
    fn counts(
        &self,
        now: Instant,
        address: IpAddr,
        station: Mac,
        token: Token,
    ) -> Result<bool, Refusal> {
        let minute = now.since(Instant::ZERO) / MINUTE;
        let mut made = [0, 1].iter().filter_map(|back| minute.checked_sub(*back));
        // Without a key there are no tokens, and nobody listens for datagrams.
        let key = self.config.tokens.as_ref().ok_or(Refusal::Unknown)?;
        Ok(made.any(|minute| made_at(key, minute, address, station) == token))
    }

    /// Sends a token to where a datagram without one came from, if it is of a station of this
    /// network. Nothing is kept of it.
    fn challenge(
        &mut self,
        now: Instant,
        to: SocketAddr,
        claim: &Claim<'_>,
    ) -> Result<(), Refusal> {
        self.admit_stranger(now)?;
        let station = claim.station();
        let key = self.config.session.key(&self.key_of(station)?);
        let report = claim.open(&key).map_err(|_| Refusal::Forged)?;
        self.counters.challenges += 1;
        self.reply(now, station, report.sequence, to, false);
        Ok(())
    }

    /// Sends a datagram to a station.
    pub(super) fn reply(
        &mut self,
        now: Instant,
        station: Mac,
        sequence: u64,
        to: SocketAddr,
        is_believed: bool,
    ) {
        let Some(tokens) = &self.config.tokens else { return };
        let Ok(key) = self.key_of(station) else { return };
        let minute = now.since(Instant::ZERO) / MINUTE;
        let token = made_at(tokens, minute, to.ip(), station);
        let session = self.config.session;
        let payload = Reply { is_believed, station, sequence, token, session }.seal(&key);
        self.actions.push_back(Action::Reply { station, to, payload });
    }

    /// Notes how a report came that was just believed. The address is this station's from now on,
    /// and no other one is.
    pub(super) fn note_reach(&mut self, station: Mac, reach: Reach) {
        let Some(known) = self.stations.get_mut(station) else { return };
        let before = std::mem::replace(&mut known.reach, reach);
        if before != reach {
            self.give_up(before);
        }
        if let Reach::Address(address) = reach {
            self.addresses.insert(address, station);
        }
        debug_assert!(self.addresses.len() <= self.stations.len(), "an address is nobody's");
    }

    /// Lets others have an address.
    pub(super) fn give_up(&mut self, reach: Reach) {
        if let Reach::Address(address) = reach {
            self.addresses.remove(&address);
        }
    }
}

fn made_at(key: &Key, minute: u64, address: IpAddr, station: Mac) -> Token {
    let address = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    Token(key.tag(LABEL, &[&minute.to_be_bytes(), &address.octets(), &station.0]).0)
}
