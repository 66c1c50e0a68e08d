//! Encoding of messages: the fields in their order.

use super::message::{FORMAT, LABEL};
use super::{
    ANNOUNCE_LEN, Announce, Body, COOKIE_LEN, Claim, Cost, Denial, Error, Grant, HEAD_LEN, Kind,
    LeaseRequest, MAX_OFFERS, MemberId, Message, Name, Offer, Offers, Rates, Refusal, Revocation,
    Role,
};
use crate::reader::Reader;
use crate::seal::{Key, TAG_LEN, Tag};
use fairwave_units::BitRate;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};

const ANNOUNCE: u8 = 1;
const QUERY: u8 = 2;
const GOODBYE: u8 = 3;
const HELLO: u8 = 4;
const CHALLENGE: u8 = 5;
const RESPONSE: u8 = 6;
const WELCOME: u8 = 7;
const REFUSE: u8 = 8;
const ASK: u8 = 9;
const GRANT: u8 = 10;
const DENY: u8 = 11;
const TERMS: u8 = 12;
const RELEASE: u8 = 13;
const OVER: u8 = 14;
const REVOKE: u8 = 15;
const NOTED: u8 = 16;
const LEAVE: u8 = 17;
const LEFT: u8 = 18;

/// Length of the body of an announcement and of a query, which is filled with zeros.
const ANNOUNCE_BODY: usize = ANNOUNCE_LEN - HEAD_LEN - TAG_LEN;
/// Number of zeros after the nonce of a greeting, so that it is as long as its answer with a
/// cookie.
const HELLO_PADDING: usize = COOKIE_LEN;

/// Parses a message, which must be all of `bytes`.
///
/// # Errors
/// If the bytes are no message of this version.
pub fn parse(bytes: &[u8]) -> Result<Claim<'_>, Error> {
    let mut reader = Reader::new(bytes);
    FORMAT.read(&mut reader)?;
    let kind = reader.u8("kind")?;
    if reader.u16_be("reserved")? != 0 {
        return Err(Error::NotZero { field: "reserved at offset 6" });
    }
    let cluster = reader.u64_be("cluster")?;
    let from = NonZeroU64::new(reader.u64_be("sender")?).map(MemberId);
    let from = from.ok_or(Error::Range { field: "sender at offset 16" })?;
    let to = NonZeroU64::new(reader.u64_be("receiver")?).map(MemberId);
    let number = NonZeroU64::new(reader.u64_be("number")?);
    let number = number.ok_or(Error::Range { field: "number at offset 32" })?;
    let inside = reader.rest().len().saturating_sub(TAG_LEN);
    let mut content = Reader::new(reader.take(inside, "body")?);
    let tag = Tag(reader.array("seal")?);
    let body = read_body(kind, &mut content)?;
    if !content.is_empty() {
        return Err(Error::Trailing { len: content.rest().len(), kind });
    }
    if to.is_none() && !body.is_public() {
        return Err(Error::Range { field: "receiver at offset 24" });
    }
    let message = Message { cluster, from, to, number, body };
    Ok(Claim { message, covered: &bytes[..HEAD_LEN + inside], tag })
}

impl Message {
    /// Appends the sealed message to `out`.
    pub fn write(&self, key: &Key, out: &mut Vec<u8>) {
        write(self, key, out);
    }
}

impl Body {
    /// Length of a message with this body in bytes.
    #[must_use]
    pub fn message_len(&self) -> usize {
        len(self)
    }
}

fn read_body(kind: u8, reader: &mut Reader<'_>) -> Result<Body, Error> {
    Ok(match kind {
        ANNOUNCE => Body::Announce(read_announce(reader)?),
        QUERY => {
            zeros(reader, ANNOUNCE_BODY, "padding of a query")?;
            Body::Query
        }
        GOODBYE => Body::Goodbye,
        HELLO => {
            let nonce = reader.u64_be("nonce")?;
            zeros(reader, HELLO_PADDING, "padding of a greeting")?;
            Body::Hello { nonce }
        }
        CHALLENGE => {
            Body::Challenge { nonce: reader.u64_be("nonce")?, cookie: reader.array("cookie")? }
        }
        RESPONSE => {
            Body::Response { nonce: reader.u64_be("nonce")?, cookie: reader.array("cookie")? }
        }
        WELCOME => Body::Welcome,
        REFUSE => Body::Refuse {
            nonce: reader.u64_be("nonce")?,
            reason: Refusal::read(reader.u8("reason")?, "reason of a refusal")?,
        },
        ASK => Body::LeaseRequest(read_request(reader)?),
        GRANT => Body::Grant(read_grant(reader)?),
        DENY => Body::Deny {
            lease: lease(reader)?,
            reason: Denial::read(reader.u8("reason")?, "reason of a denial")?,
            retry_ms: reader.u32_be("time to ask again")?,
        },
        TERMS => Body::Terms { lease: lease(reader)?, rates: rates(reader)? },
        RELEASE => Body::Release { lease: lease(reader)? },
        OVER => Body::Over { lease: lease(reader)? },
        REVOKE => Body::Revoke {
            lease: lease(reader)?,
            reason: Revocation::read(reader.u8("reason")?, "reason of a revocation")?,
            notice_ms: reader.u32_be("notice")?,
        },
        NOTED => Body::Noted { lease: lease(reader)? },
        LEAVE => Body::Leave { by: role(reader)? },
        LEFT => Body::Left { by: role(reader)? },
        found => return Err(Error::Kind { found }),
    })
}

fn zeros(reader: &mut Reader<'_>, len: usize, field: &'static str) -> Result<(), Error> {
    let are_zero = reader.take(len, field)?.iter().all(|byte| *byte == 0);
    if are_zero { Ok(()) } else { Err(Error::NotZero { field }) }
}

fn lease(reader: &mut Reader<'_>) -> Result<NonZeroU32, Error> {
    NonZeroU32::new(reader.u32_be("lease")?).ok_or(Error::Range { field: "lease" })
}

fn rates(reader: &mut Reader<'_>) -> Result<Rates, Error> {
    let up = BitRate(reader.u64_be("rate up")?);
    Ok(Rates { up, down: BitRate(reader.u64_be("rate down")?) })
}

fn role(reader: &mut Reader<'_>) -> Result<Role, Error> {
    match reader.u8("end of the session")? {
        1 => Ok(Role::Borrower),
        2 => Ok(Role::Lender),
        _ => Err(Error::Range { field: "end of the session" }),
    }
}

fn read_announce(reader: &mut Reader<'_>) -> Result<Announce, Error> {
    let before = reader.rest().len();
    let interval_ds = NonZeroU16::new(reader.u16_be("interval")?);
    let interval_ds = interval_ds.ok_or(Error::Range { field: "interval at offset 40" })?;
    let len = usize::from(reader.u8("length of the name")?);
    let name = Name::from_bytes(reader.take(len, "name")?)?;
    let count = usize::from(reader.u8("count of uplinks")?);
    if count > MAX_OFFERS {
        return Err(Error::Range { field: "count of uplinks" });
    }
    let mut offers = Offers::default();
    for _ in 0..count {
        if !offers.push(read_offer(reader)?) {
            return Err(Error::Range { field: "order or free rates of the uplinks" });
        }
    }
    let used = before - reader.rest().len();
    let padding = ANNOUNCE_BODY.saturating_sub(used);
    zeros(reader, padding, "padding of an announcement")?;
    Ok(Announce { name, interval_ds, offers })
}

fn read_offer(reader: &mut Reader<'_>) -> Result<Offer, Error> {
    let uplink = reader.u8("uplink")?;
    let kind = usize::from(reader.u8("kind of the uplink")?).checked_sub(1);
    let kind = kind.and_then(|index| Kind::ALL.get(index));
    let kind = *kind.ok_or(Error::Range { field: "kind of the uplink" })?;
    let cost = match reader.u8("cost")? {
        0 => Cost::Flat,
        1 => Cost::Metered,
        _ => return Err(Error::Range { field: "cost" }),
    };
    Ok(Offer {
        uplink,
        kind,
        cost,
        places: reader.u8("places")?,
        rtt_us: NonZeroU32::new(reader.u32_be("round-trip time")?),
        nominal: rates(reader)?,
        free: rates(reader)?,
    })
}

fn read_request(reader: &mut Reader<'_>) -> Result<LeaseRequest, Error> {
    Ok(LeaseRequest {
        lease: lease(reader)?,
        uplink: reader.u8("uplink")?,
        at_ms: reader.u32_be("time of asking")?,
        rates: rates(reader)?,
        bytes: reader.u64_be("bytes")?,
        duration_ms: reader.u32_be("duration")?,
    })
}

fn read_grant(reader: &mut Reader<'_>) -> Result<Grant, Error> {
    Ok(Grant {
        lease: lease(reader)?,
        at_ms: reader.u32_be("time of asking")?,
        rates: rates(reader)?,
        bytes: reader.u64_be("bytes")?,
        duration_ms: NonZeroU32::new(reader.u32_be("duration")?)
            .ok_or(Error::Range { field: "duration" })?,
    })
}

const fn kind(body: &Body) -> u8 {
    match body {
        Body::Announce(_) => ANNOUNCE,
        Body::Query => QUERY,
        Body::Goodbye => GOODBYE,
        Body::Hello { .. } => HELLO,
        Body::Challenge { .. } => CHALLENGE,
        Body::Response { .. } => RESPONSE,
        Body::Welcome => WELCOME,
        Body::Refuse { .. } => REFUSE,
        Body::LeaseRequest(_) => ASK,
        Body::Grant(_) => GRANT,
        Body::Deny { .. } => DENY,
        Body::Terms { .. } => TERMS,
        Body::Release { .. } => RELEASE,
        Body::Over { .. } => OVER,
        Body::Revoke { .. } => REVOKE,
        Body::Noted { .. } => NOTED,
        Body::Leave { .. } => LEAVE,
        Body::Left { .. } => LEFT,
    }
}

/// Length of a message with this body in bytes.
fn len(body: &Body) -> usize {
    let inside = match body {
        Body::Announce(_) | Body::Query => ANNOUNCE_BODY,
        Body::Goodbye | Body::Welcome => 0,
        Body::Hello { .. } | Body::Challenge { .. } | Body::Response { .. } => 8 + COOKIE_LEN,
        Body::Refuse { .. } | Body::Deny { .. } | Body::Revoke { .. } => 9,
        Body::LeaseRequest(_) => 37,
        Body::Grant(_) => 36,
        Body::Terms { .. } => 20,
        Body::Release { .. } | Body::Over { .. } | Body::Noted { .. } => 4,
        Body::Leave { .. } | Body::Left { .. } => 1,
    };
    HEAD_LEN + inside + TAG_LEN
}

fn write(message: &Message, key: &Key, out: &mut Vec<u8>) {
    let start = out.len();
    FORMAT.write(out);
    out.extend([kind(&message.body), 0, 0]);
    out.extend(message.cluster.to_be_bytes());
    out.extend(message.from.0.get().to_be_bytes());
    out.extend(message.to.map_or(0, |to| to.0.get()).to_be_bytes());
    out.extend(message.number.get().to_be_bytes());
    write_body(&message.body, out);
    out.resize(start + len(&message.body) - TAG_LEN, 0);
    let tag = key.tag(LABEL, &[&out[start..]]);
    out.extend(tag.0);
}

/// Writes all fields; the caller adds the zeros after them.
fn write_body(body: &Body, out: &mut Vec<u8>) {
    match body {
        Body::Announce(announce) => write_announce(announce, out),
        Body::Query | Body::Goodbye | Body::Welcome => {}
        Body::Hello { nonce } => out.extend(nonce.to_be_bytes()),
        Body::Challenge { nonce, cookie } | Body::Response { nonce, cookie } => {
            out.extend(nonce.to_be_bytes());
            out.extend(cookie);
        }
        Body::Refuse { nonce, reason } => {
            out.extend(nonce.to_be_bytes());
            out.push(reason.number());
        }
        Body::LeaseRequest(ask) => {
            out.extend(ask.lease.get().to_be_bytes());
            out.push(ask.uplink);
            out.extend(ask.at_ms.to_be_bytes());
            write_rates(ask.rates, out);
            out.extend(ask.bytes.to_be_bytes());
            out.extend(ask.duration_ms.to_be_bytes());
        }
        Body::Grant(grant) => {
            out.extend(grant.lease.get().to_be_bytes());
            out.extend(grant.at_ms.to_be_bytes());
            write_rates(grant.rates, out);
            out.extend(grant.bytes.to_be_bytes());
            out.extend(grant.duration_ms.get().to_be_bytes());
        }
        Body::Deny { lease, reason, retry_ms } => {
            write_reason(*lease, reason.number(), *retry_ms, out);
        }
        Body::Revoke { lease, reason, notice_ms } => {
            write_reason(*lease, reason.number(), *notice_ms, out);
        }
        Body::Terms { lease, rates } => {
            out.extend(lease.get().to_be_bytes());
            write_rates(*rates, out);
        }
        Body::Release { lease } | Body::Over { lease } | Body::Noted { lease } => {
            out.extend(lease.get().to_be_bytes());
        }
        Body::Leave { by } | Body::Left { by } => {
            out.push(if *by == Role::Borrower { 1 } else { 2 });
        }
    }
}

fn write_rates(rates: Rates, out: &mut Vec<u8>) {
    out.extend(rates.up.0.to_be_bytes());
    out.extend(rates.down.0.to_be_bytes());
}

fn write_reason(lease: NonZeroU32, reason: u8, time_ms: u32, out: &mut Vec<u8>) {
    out.extend(lease.get().to_be_bytes());
    out.push(reason);
    out.extend(time_ms.to_be_bytes());
}

fn write_announce(announce: &Announce, out: &mut Vec<u8>) {
    let name = announce.name.as_str().as_bytes();
    out.extend(announce.interval_ds.get().to_be_bytes());
    out.push(name.len() as u8);
    out.extend(name);
    out.push(announce.offers.len() as u8);
    for offer in announce.offers.iter() {
        let kind = 1 + Kind::ALL.iter().take_while(|kind| **kind != offer.kind).count();
        let cost = u8::from(offer.cost == Cost::Metered);
        out.extend([offer.uplink, kind as u8, cost, offer.places]);
        out.extend(offer.rtt_us.map_or(0, NonZeroU32::get).to_be_bytes());
        write_rates(offer.nominal, out);
        write_rates(offer.free, out);
    }
}
