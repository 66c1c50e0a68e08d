//! Init Cookies (RFC 4340 section 8.1.4): a listener's state, sealed and given to the client.
//!
//! A cookie holds the time, the number of the Request and its negotiation options. Its seal covers
//! the ports, the service code and the number of the Response as well, which the client returns as
//! an acknowledgement; a host that knows the addresses derives the key from them. The features are
//! not in it: processing the same options again gives the same values.

use super::{Connection, Control, Packet};
use crate::Payload;
use crate::features::{Carrier, Features};
use fairwave_units::Instant;
use fairwave_wire::dccp::{Header, Kind, Options, ResetCode, Seq48, Value};
use fairwave_wire::seal::{TAG_LEN, Tag};

const LABEL: &str = "dccp init cookie";
/// Time in seconds for which a cookie is good: a client that comes later has given up before.
const LIFETIME_S: u32 = 64;
const NANOS: u64 = 1_000_000_000;
/// Bytes of a time in seconds, and of a sequence number.
const TIME_LEN: usize = 4;
const SEQ_LEN: usize = 6;
/// Bytes of options that fit a cookie: 253, less time, number and seal.
const OPTIONS_MAX: usize = 253 - TIME_LEN - SEQ_LEN - TAG_LEN;

/// Content of a cookie.
struct Cookie {
    request: Seq48,
    options: Options,
}

impl<P: Payload> Connection<P> {
    /// Answers a Request and remembers nothing of it.
    pub(super) fn respond_without_state(&mut self, now: Instant, packet: &Packet<P>) {
        let request = packet.header.seq;
        let read = |features: &mut Features, options: &Options| {
            Self::read_negotiation(features, request, None, options)
        };
        if let Err((code, data)) = read(&mut self.own_features(true), &packet.options) {
            self.refuse_with(packet, code, data);
            return;
        }
        let requested = negotiation(&packet.options);
        let response = self.numbers.send();
        let mut features = self.own_features(true);
        // A part of the options, none of which failed above.
        let _ = read(&mut features, &requested);
        let carrier =
            Carrier { now, seq: response, acknowledges: true, handshake: true, rtt: None };
        let mut options = Options::new();
        features.write(&carrier, &mut options);
        let Some(sealed) = self.seal(now, &packet.header, response, &requested) else { return };
        if options.push(Value::InitCookie(&sealed)).is_err() {
            return;
        }
        let kind = Kind::Response { ack: request, service: self.config.service };
        let header = Header {
            source_port: self.config.local_port,
            destination_port: packet.header.source_port,
            ccval: 0,
            coverage: 0,
            seq: response,
            short: false,
            kind,
            options_words: options.words(),
        };
        self.push_control(Control::Stray(header, options));
    }

    /// A packet at a listener that is no Request: with a good cookie the connection begins.
    pub(super) fn on_cookie(&mut self, now: Instant, packet: &Packet<P>) -> bool {
        let sealed = packet.options.values().find_map(|value| match value {
            Value::InitCookie(sealed) => Some(sealed),
            _ => None,
        });
        if matches!(packet.header.kind, Kind::Reset { .. }) {
            return false;
        }
        let (Some(sealed), Some(ack)) = (sealed, packet.header.kind.ack()) else {
            self.refuse(packet, ResetCode::NO_CONNECTION);
            return false;
        };
        let Some(cookie) = self.unseal(now, &packet.header, ack, sealed) else {
            self.refuse(packet, ResetCode::BAD_INIT_COOKIE);
            return false;
        };
        let (Cookie { request, options }, response) = (cookie, ack);
        self.numbers.iss = response;
        self.numbers.gss = response;
        self.numbers.gar = response;
        self.accept(now, packet);
        self.numbers.begin(request);
        if Self::read_negotiation(&mut self.features, request, None, &options).is_err() {
            self.refuse(packet, ResetCode::MANDATORY_ERROR);
            return false;
        }
        let carrier =
            Carrier { now, seq: response, acknowledges: true, handshake: true, rtt: None };
        self.features.write(&carrier, &mut Options::new());
        self.arrivals.take(request, fairwave_wire::ipv4::Ecn::NotEct);
        self.apply_features(now);
        true
    }

    fn seal(
        &self,
        now: Instant,
        client: &Header,
        response: Seq48,
        options: &Options,
    ) -> Option<Vec<u8>> {
        let mut body = seconds(now).to_be_bytes().to_vec();
        body.extend(&client.seq.value().to_be_bytes()[8 - SEQ_LEN..]);
        body.extend(options.as_bytes());
        let scope = self.scope(client, response);
        let tag = self.config.cookie.as_ref()?.tag(LABEL, &[&scope, &body]);
        body.extend(tag.0);
        Some(body)
    }

    fn unseal(
        &self,
        now: Instant,
        client: &Header,
        response: Seq48,
        sealed: &[u8],
    ) -> Option<Cookie> {
        let (body, tag) = sealed.split_last_chunk::<TAG_LEN>()?;
        let key = self.config.cookie.as_ref()?;
        key.verify(LABEL, &[&self.scope(client, response), body], &Tag(*tag)).ok()?;
        let (made, rest) = body.split_first_chunk::<TIME_LEN>()?;
        let ([a, b, c, d, e, f], options) = rest.split_first_chunk::<SEQ_LEN>()?;
        let age = seconds(now).wrapping_sub(u32::from_be_bytes(*made));
        (age <= LIFETIME_S).then(|| Cookie {
            request: Seq48::new(u64::from_be_bytes([0, 0, *a, *b, *c, *d, *e, *f])),
            options: Options::from_bytes(options),
        })
    }

    /// Scope of a cookie: these ports, this service and this Response alone.
    fn scope(&self, client: &Header, response: Seq48) -> [u8; 16] {
        let [a, b] = client.source_port.to_be_bytes();
        let [c, d] = client.destination_port.to_be_bytes();
        let [e, f, g, h] = self.config.service.to_be_bytes();
        let [i, j, k, l, m, n, o, p] = response.value().to_be_bytes();
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
    }
}

fn seconds(at: Instant) -> u32 {
    (at.as_nanos() / NANOS) as u32
}

/// The negotiation options, as many as fit a cookie.
fn negotiation(options: &Options) -> Options {
    let mut kept = Options::new();
    for item in options.items() {
        let Ok(value @ Value::Change { .. }) = item.value() else { continue };
        if kept.len() + item.data.len() + 3 > OPTIONS_MAX {
            break;
        }
        // There is room, and the value came out of such an option.
        let _ = if item.mandatory { kept.push_mandatory(value) } else { kept.push(value) };
    }
    kept
}
