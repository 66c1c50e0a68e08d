//! Frames between a host that lends its uplink and one that borrows it: Fairwave's own format
//! (`docs/models/cluster.md` has it byte by byte).
//!
//! Each frame is the content of a sealed [record](crate::shake::record) of a session that the
//! borrower opens with a handshake of Noise: nothing in a frame names its sender.

pub use crate::message::Error;
use crate::reader::Reader;
use fairwave_units::BitRate;
use std::net::{IpAddr, SocketAddr};
use thiserror::Error as ThisError;

/// Octets of a record before the datagram that it carries, and behind it: the head, the kind of the
/// frame, and Noise's tag.
pub const CARRIED_OVERHEAD: usize = crate::shake::record::RECORD_OVERHEAD;

const ASK: u8 = 16;
const GRANT: u8 = 17;
const DENY: u8 = 18;
const CARRIED: u8 = 19;
const OVER: u8 = 20;

/// No limit, in the place of a rate or of a number of bytes.
const UNLIMITED: u64 = u64::MAX;

/// Terms of a lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Bandwidth of the borrowed link, each way, if the lender limits it.
    pub rate: Option<BitRate>,
    /// Bytes left of this day, both ways together, if the lender limits them.
    pub bytes_left: Option<u64>,
}

/// Reason for which there is no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
pub enum Denial {
    /// The lender does not carry datagrams to this server.
    #[error("it does not carry datagrams to this server: its owner can add --allow PREFIX")]
    Target,
    /// Not at this time of the day.
    #[error("it does not lend at this time of the day")]
    Closed,
    /// The bytes of the day are used up.
    #[error("the bytes that it lends in a day are used up")]
    Quota,
    /// It has as many leases as it may have.
    #[error("it has as many borrowers as it takes")]
    Full,
    /// The lender's uplink cannot be used.
    #[error("its uplink cannot be used now")]
    Uplink,
}

impl Denial {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Target, Self::Closed, Self::Quota, Self::Full, Self::Uplink];
}

/// Content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The borrower asks for a lease for datagrams to this server, or renews it.
    Ask(SocketAddr),
    /// The lender gives or renews it.
    Grant(Terms),
    /// The lender does not, or ends it.
    Deny(Denial),
    /// A datagram to the server, or from it.
    Carried(&'a [u8]),
    /// The session is over.
    Over,
}

impl<'a> Frame<'a> {
    /// Reads a frame, which is all of `bytes`.
    ///
    /// # Errors
    /// If the bytes are no frame.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let kind = reader.u8("kind of the frame")?;
        let frame = match kind {
            ASK => Self::Ask(read_address(&mut reader)?),
            GRANT => {
                let mut limit = |field| -> Result<Option<u64>, Error> {
                    Ok(Some(reader.u64_be(field)?).filter(|value| *value != UNLIMITED))
                };
                let rate = limit("rate")?.map(BitRate);
                Self::Grant(Terms { rate, bytes_left: limit("bytes left")? })
            }
            DENY => {
                let number = usize::from(reader.u8("reason")?);
                let denial = Denial::ALL.get(number).copied();
                Self::Deny(denial.ok_or(Error::Range { field: "reason" })?)
            }
            CARRIED => return Ok(Self::Carried(reader.rest())),
            OVER => Self::Over,
            found => return Err(Error::Kind { found }),
        };
        match reader.rest().len() {
            0 => Ok(frame),
            len => Err(Error::Trailing { len, kind }),
        }
    }

    /// Appends the octets.
    pub fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Ask(server) => {
                out.push(ASK);
                write_address(server, out);
            }
            Self::Grant(terms) => {
                out.push(GRANT);
                let rate = terms.rate.map_or(UNLIMITED, |rate| rate.0);
                out.extend(rate.to_be_bytes());
                out.extend(terms.bytes_left.unwrap_or(UNLIMITED).to_be_bytes());
            }
            Self::Deny(denial) => {
                let number = Denial::ALL.iter().position(|one| *one == denial);
                out.extend([DENY, number.expect("one of all") as u8]);
            }
            Self::Carried(datagram) => {
                out.push(CARRIED);
                out.extend_from_slice(datagram);
            }
            Self::Over => out.push(OVER),
        }
    }
}

fn read_address(reader: &mut Reader<'_>) -> Result<SocketAddr, Error> {
    let ip = match reader.u8("family")? {
        4 => IpAddr::from(reader.array::<4>("address")?),
        6 => IpAddr::from(reader.array::<16>("address")?),
        _ => return Err(Error::Range { field: "family" }),
    };
    Ok(SocketAddr::new(ip, reader.u16_be("port")?))
}

fn write_address(address: SocketAddr, out: &mut Vec<u8>) {
    match address.ip() {
        IpAddr::V4(ip) => {
            out.push(4);
            out.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(6);
            out.extend(ip.octets());
        }
    }
    out.extend(address.port().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(frame: &Frame<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        frame.write(&mut out);
        out
    }

    #[test]
    fn octets_are_those_of_the_page() {
        let server = "192.0.2.7:17995".parse().unwrap();
        assert_eq!(written(&Frame::Ask(server)), [16, 4, 192, 0, 2, 7, 0x46, 0x4b]);
        let terms = Terms { rate: Some(BitRate(10_000_000)), bytes_left: None };
        let octets = [&[17, 0, 0, 0, 0, 0, 0x98, 0x96, 0x80][..], &[0xff; 8]].concat();
        assert_eq!(written(&Frame::Grant(terms)), octets);
        assert_eq!(written(&Frame::Deny(Denial::Quota)), [18, 2]);
        assert_eq!(written(&Frame::Carried(b"ab")), [19, b'a', b'b']);
        assert_eq!(written(&Frame::Over), [20]);
    }

    #[test]
    fn other_bytes_are_refused() {
        for wrong in [
            &[][..],
            &[15],
            &[16, 5, 1, 2, 3, 4, 0, 1],
            &[16, 4, 1, 2, 3, 4, 0],
            &[18, 5],
            &[20, 0],
            &[16, 4, 1, 2, 3, 4, 0, 1, 0],
            &[17; 16],
        ] {
            assert!(Frame::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn what_parses_is_written_as_it_was(bytes in prop::collection::vec(
            prop_oneof![0..21u8, any::<u8>()], 0..24)
        ) {
            if let Ok(frame) = Frame::parse(&bytes) {
                prop_assert_eq!(written(&frame), bytes);
            }
        }

        #[test]
        fn an_address_comes_back(ip: IpAddr, port: u16) {
            let frame = Frame::Ask(SocketAddr::new(ip, port));
            let octets = written(&frame);
            prop_assert_eq!(Frame::parse(&octets), Ok(frame));
        }
    }
}
