//! Datagrams of a session between two hosts, and the frames in its records.
//!
//! A session begins with a handshake of the Noise Protocol Framework, whose messages are opaque
//! here. Its records are sealed by the keys of the handshake; a record's nonce is its path in the
//! first octet and its number in the other seven, so that each path has a window of numbers of its
//! own. Heads have the octets of WireGuard's: a kind, three octets, the receiver's index.

use super::{Error, Header, parse_unsealed};
use crate::reader::Reader;
use std::num::NonZeroU64;

/// Version of the handshake.
pub const SESSION_VERSION: u8 = 1;
/// Octets of a record before its frame.
pub const RECORD_HEAD_LEN: usize = 16;
/// Octets of a record besides the SHAKE message in it: head, kind of the frame, and Noise's tag.
pub const RECORD_OVERHEAD: usize = RECORD_HEAD_LEN + 1 + 16;
/// Numbers of records on a path are below this.
pub const NUMBER_LIMIT: u64 = 1 << 56;

const INITIATION: u8 = 1;
const ANSWER: u8 = 2;
const RECORD: u8 = 3;

const MESSAGE: u8 = 0;
const PING: u8 = 1;
const PONG: u8 = 2;
const SEGMENT: u8 = 3;
const CLOSE: u8 = 4;
const BUNDLE: u8 = 6;
const UNRELIABLE: u8 = 5;

/// Octets of an unreliable frame before its payload, its kind among them.
pub const UNRELIABLE_HEAD_LEN: usize = 1 + 4 + 8 + 2;

/// A datagram of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram<'a> {
    /// Opens a session: Noise's first message.
    Initiation {
        /// Index of the session at its sender.
        from: u32,
        /// Message of the handshake.
        noise: &'a [u8],
    },
    /// Noise's second message.
    Answer {
        /// Index of the session at its receiver.
        to: u32,
        /// Index of the session at its sender.
        from: u32,
        /// Message of the handshake.
        noise: &'a [u8],
    },
    /// A sealed frame.
    Record(Record<'a>),
}

/// A sealed frame and its nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Index of the session at its receiver.
    pub to: u32,
    /// The path on which it is sent.
    pub path: u8,
    /// Its number on this path, from one on.
    pub number: NonZeroU64,
    /// The sealed frame.
    pub sealed: &'a [u8],
}

/// The nonce of a record.
pub const fn nonce(path: u8, number: NonZeroU64) -> u64 {
    ((path as u64) << 56) | number.get()
}

impl<'a> Datagram<'a> {
    /// Reads a datagram, which is all of `bytes`.
    ///
    /// # Errors
    /// If the bytes are no datagram of a session of this version.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let kind = reader.u8("kind")?;
        let [version, zero @ ..] = reader.array::<3>("version")?;
        let spoken = if kind == RECORD { 0 } else { SESSION_VERSION };
        match kind {
            INITIATION | ANSWER | RECORD if version != spoken => {
                return Err(Error::Version { found: version, spoken });
            }
            INITIATION | ANSWER | RECORD => {}
            found => return Err(Error::Kind { found }),
        }
        if zero != [0; 2] {
            return Err(Error::NotZero { field: "octets 2 and 3" });
        }
        let first = reader.u32_be("index")?;
        Ok(match kind {
            INITIATION => Self::Initiation { from: first, noise: reader.rest() },
            ANSWER => {
                let from = reader.u32_be("sender's index")?;
                Self::Answer { to: first, from, noise: reader.rest() }
            }
            _ => {
                let nonce = reader.u64_be("nonce")?;
                let number = NonZeroU64::new(nonce % NUMBER_LIMIT);
                let number = number.ok_or(Error::Range { field: "number of the record" })?;
                let path = (nonce >> 56) as u8;
                Self::Record(Record { to: first, path, number, sealed: reader.rest() })
            }
        })
    }

    /// Appends the octets.
    pub fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Initiation { from, noise } => {
                out.extend([INITIATION, SESSION_VERSION, 0, 0]);
                out.extend(from.to_be_bytes());
                out.extend_from_slice(noise);
            }
            Self::Answer { to, from, noise } => {
                out.extend([ANSWER, SESSION_VERSION, 0, 0]);
                out.extend(to.to_be_bytes());
                out.extend(from.to_be_bytes());
                out.extend_from_slice(noise);
            }
            Self::Record(record) => {
                out.extend([RECORD, 0, 0, 0]);
                out.extend(record.to.to_be_bytes());
                out.extend(nonce(record.path, record.number).to_be_bytes());
                out.extend_from_slice(record.sealed);
            }
        }
    }
}

/// Counts of a path at one end, from the session's beginning on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records sent on the path.
    pub sent: u64,
    /// Records received on the path.
    pub received: u64,
}

/// Use that the asking end wants made of a path while others work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// It carries data whenever that helps.
    #[default]
    Regular,
    /// A metered link: it carries data only if the regular paths cannot carry the bytes that wait,
    /// or none of them works.
    Backup,
    /// A link that is likely to fail: it carries copies alone, unless no other path works.
    Standby,
}

impl Priority {
    /// All of them, by their codes.
    pub const ALL: [Self; 3] = [Self::Regular, Self::Backup, Self::Standby];
}

/// A question whether a path works, or its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Chosen for the question, returned in the answer.
    pub token: u32,
    /// The sender's counts, this record among them.
    pub counts: Counts,
    /// Largest payload of a segment that the sender's paths take, in bytes.
    pub mss: u16,
    /// Use that the opener wants made of the path. An answer repeats that of its question.
    pub priority: Priority,
    /// Octets of zeros behind it: a question of this length asks for the path's MTU. Its answer has
    /// as many, as the MTU of the way back may be smaller.
    pub padding: u16,
}

/// Content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A message of a SHAKE connection, and its payload.
    Message(Header, &'a [u8]),
    /// A question.
    Ping(Echo),
    /// Its answer, sent on the same path.
    Pong(Echo),
    /// A TCP segment of a set of connections (multi-connection SHAKE) on this path's connection.
    Segment {
        /// The set.
        set: u64,
        /// The segment, header and payload.
        tcp: &'a [u8],
    },
    /// The session is over.
    Close,
    /// Messages without payload.
    Bundle(Bundle<'a>),
    /// A datagram of an application, which is not retransmitted.
    Unreliable(Unreliable<'a>),
}

/// Messages without payload, of any connections, each behind its length in two octets: what one
/// host has to acknowledge at once costs one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle<'a>(pub &'a [u8]);

impl Bundle<'_> {
    /// Appends a message to the octets of a bundle.
    ///
    /// # Errors
    /// Those of [`Header::write_unsealed`].
    pub fn add(header: &Header, bundle: &mut Vec<u8>) -> Result<(), Error> {
        let start = bundle.len();
        bundle.extend([0; 2]);
        let written = header.write_unsealed(&[], bundle);
        if written.is_err() {
            bundle.truncate(start);
            return written;
        }
        let len = (bundle.len() - start - 2) as u16;
        bundle[start..start + 2].copy_from_slice(&len.to_be_bytes());
        Ok(())
    }
}

impl Iterator for Bundle<'_> {
    type Item = Result<Header, Error>;

    /// Reads the next message. None follows an error.
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut reader = Reader::new(std::mem::take(&mut self.0));
        let len = reader.u16_be("length of the message");
        let message = len.and_then(|len| reader.take(len.into(), "message"));
        let message = match message {
            Ok(message) => message,
            Err(error) => return Some(Err(error.into())),
        };
        Some(match parse_unsealed(message) {
            Ok((header, [])) => {
                self.0 = reader.rest();
                Ok(header)
            }
            Ok((_, payload)) => Err(Error::Trailing { len: payload.len(), kind: BUNDLE }),
            Err(error) => Err(error),
        })
    }
}

/// A datagram of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreliable<'a> {
    /// The flow that it belongs to.
    pub flow: u32,
    /// Its number among those of its sender in the session, from one on: copies on several paths
    /// have the same.
    pub number: NonZeroU64,
    /// Time in milliseconds for which the receiver may keep it.
    pub lifetime_ms: u16,
    /// The payload.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Reads a frame, which is all of `bytes`.
    ///
    /// # Errors
    /// If the bytes are no frame.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        Ok(match reader.u8("kind of the frame")? {
            MESSAGE => {
                let (header, payload) = parse_unsealed(reader.rest())?;
                Self::Message(header, payload)
            }
            PING => Self::Ping(read_echo(&mut reader)?),
            PONG => Self::Pong(read_echo(&mut reader)?),
            SEGMENT => Self::Segment { set: reader.u64_be("set")?, tcp: reader.rest() },
            BUNDLE => Self::Bundle(Bundle(reader.rest())),
            CLOSE if reader.is_empty() => Self::Close,
            UNRELIABLE => Self::Unreliable(read_unreliable(&mut reader)?),
            CLOSE => return Err(Error::Trailing { len: reader.rest().len(), kind: CLOSE }),
            found => return Err(Error::Kind { found }),
        })
    }

    /// Appends the octets.
    ///
    /// # Errors
    /// For a message, those of [`Header::write_unsealed`].
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        match *self {
            Self::Message(header, payload) => {
                let start = out.len();
                out.push(MESSAGE);
                let written = header.write_unsealed(payload, out);
                if written.is_err() {
                    out.truncate(start);
                }
                return written;
            }
            Self::Ping(echo) => write_echo(PING, &echo, out),
            Self::Pong(echo) => write_echo(PONG, &echo, out),
            Self::Segment { set, tcp } => {
                out.push(SEGMENT);
                out.extend(set.to_be_bytes());
                out.extend_from_slice(tcp);
            }
            Self::Close => out.push(CLOSE),
            Self::Bundle(Bundle(messages)) => {
                out.push(BUNDLE);
                out.extend_from_slice(messages);
            }
            Self::Unreliable(datagram) => {
                out.push(UNRELIABLE);
                out.extend(datagram.flow.to_be_bytes());
                out.extend(datagram.number.get().to_be_bytes());
                out.extend(datagram.lifetime_ms.to_be_bytes());
                out.extend_from_slice(datagram.payload);
            }
        }
        Ok(())
    }
}

fn read_unreliable<'a>(reader: &mut Reader<'a>) -> Result<Unreliable<'a>, Error> {
    let flow = reader.u32_be("flow")?;
    let number = NonZeroU64::new(reader.u64_be("number")?);
    let number = number.ok_or(Error::Range { field: "number of the datagram" })?;
    let lifetime_ms = reader.u16_be("lifetime")?;
    Ok(Unreliable { flow, number, lifetime_ms, payload: reader.rest() })
}

fn read_echo(reader: &mut Reader<'_>) -> Result<Echo, Error> {
    let token = reader.u32_be("token")?;
    let counts = Counts {
        sent: reader.u64_be("records sent")?,
        received: reader.u64_be("records received")?,
    };
    let mss = reader.u16_be("largest payload")?;
    let priority = Priority::ALL.get(usize::from(reader.u8("priority")?)).copied();
    let priority = priority.ok_or(Error::Range { field: "priority" })?;
    let zeros = reader.rest();
    if zeros.iter().any(|octet| *octet != 0) {
        return Err(Error::NotZero { field: "padding" });
    }
    let padding = u16::try_from(zeros.len()).map_err(|_| Error::Range { field: "padding" })?;
    Ok(Echo { token, counts, mss, priority, padding })
}

fn write_echo(kind: u8, echo: &Echo, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend(echo.token.to_be_bytes());
    out.extend(echo.counts.sent.to_be_bytes());
    out.extend(echo.counts.received.to_be_bytes());
    out.extend(echo.mss.to_be_bytes());
    out.push(echo.priority as u8);
    out.resize(out.len() + usize::from(echo.padding), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn echo() -> impl Strategy<Value = Echo> {
        (any::<u32>(), any::<[u64; 2]>(), any::<u16>(), 0..3_usize, 0..1400_u16).prop_map(
            |(token, [sent, received], mss, priority, padding)| Echo {
                token,
                counts: Counts { sent, received },
                mss,
                priority: Priority::ALL[priority],
                padding,
            },
        )
    }

    proptest! {
        #[test]
        fn datagrams_are_read_as_they_were_written(
            to: u32, from: u32, path: u8, number in 1..NUMBER_LIMIT, bytes: Vec<u8>, kind in 0..3,
        ) {
            let number = NonZeroU64::new(number).unwrap();
            let datagram = match kind {
                0 => Datagram::Initiation { from, noise: &bytes },
                1 => Datagram::Answer { to, from, noise: &bytes },
                _ => Datagram::Record(Record { to, path, number, sealed: &bytes }),
            };
            let mut out = Vec::new();
            datagram.write(&mut out);
            prop_assert_eq!(Datagram::parse(&out), Ok(datagram));
        }

        #[test]
        fn frames_are_read_as_they_were_written(
            echo in echo(), set: u64, tcp: Vec<u8>,
            flow: u32, number in 1..u64::MAX, lifetime_ms: u16,
        ) {
            let number = NonZeroU64::new(number).unwrap();
            let datagram = Unreliable { flow, number, lifetime_ms, payload: &tcp };
            for frame in [
                Frame::Ping(echo),
                Frame::Pong(echo),
                Frame::Segment { set, tcp: &tcp },
                Frame::Unreliable(datagram),
            ] {
                let mut out = Vec::new();
                frame.write(&mut out).unwrap();
                prop_assert_eq!(Frame::parse(&out), Ok(frame));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok(datagram) = Datagram::parse(&bytes) {
                let mut again = Vec::new();
                datagram.write(&mut again);
                prop_assert_eq!(&again, &bytes);
            }
            if let Ok(frame) = Frame::parse(&bytes) {
                let mut again = Vec::new();
                frame.write(&mut again).unwrap();
                prop_assert_eq!(&again, &bytes);
            }
        }
    }

    #[test]
    fn messages_of_a_bundle_are_read_one_by_one() {
        let header = |path| Header {
            connection: 7,
            from: crate::shake::Side::Opener,
            path,
            number: NonZeroU64::MIN,
            sent_us: 5,
            body: crate::shake::Body::Response { answers: 9 },
        };
        let mut octets = Vec::new();
        (1..4).for_each(|path| Bundle::add(&header(path), &mut octets).unwrap());
        let read: Vec<_> = Bundle(&octets).map(Result::unwrap).collect();
        assert_eq!(read, [header(1), header(2), header(3)]);
        octets.pop();
        let read: Vec<_> = Bundle(&octets).collect();
        assert!(matches!(read[..], [Ok(_), Ok(_), Err(Error::Truncated(_))]), "{read:?}");
        assert!(matches!(Bundle(&[0, 1, 0]).next(), Some(Err(_))));
    }

    #[test]
    fn what_is_no_datagram_of_a_session_is_refused() {
        assert!(matches!(Datagram::parse(b""), Err(Error::Truncated(_))));
        assert_eq!(Datagram::parse(&[9, 1, 0, 0]), Err(Error::Kind { found: 9 }));
        let other = Err(Error::Version { found: 2, spoken: SESSION_VERSION });
        assert_eq!(Datagram::parse(&[1, 2, 0, 0, 0, 0, 0, 0]), other);
        let mut zero = vec![3, 0, 0, 0, 0, 0, 0, 1];
        zero.extend([0; 8]);
        assert_eq!(Datagram::parse(&zero), Err(Error::Range { field: "number of the record" }));
        assert!(matches!(Frame::parse(&[CLOSE, 0]), Err(Error::Trailing { .. })));
        let unnumbered = [&[UNRELIABLE, 0, 0, 0, 1][..], &[0; 10]].concat();
        let error = Err(Error::Range { field: "number of the datagram" });
        assert_eq!(Frame::parse(&unnumbered), error);
        let mut unknown = vec![PING; 1];
        unknown.extend([0; 22]);
        unknown.push(3);
        assert_eq!(Frame::parse(&unknown), Err(Error::Range { field: "priority" }));
    }

    /// The octets of the frames that hosts exchange beside messages.
    #[test]
    fn octets_of_frames() {
        let written = |frame: Frame<'_>| {
            let mut out = Vec::new();
            frame.write(&mut out).unwrap();
            out
        };
        let number = NonZeroU64::new(0x0102).unwrap();
        let datagram = Unreliable { flow: 7, number, lifetime_ms: 500, payload: b"hi" };
        let octets = [5, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 1, 2, 1, 244, b'h', b'i'];
        assert_eq!(written(Frame::Unreliable(datagram)), octets);
        let counts = Counts { sent: 3, received: 2 };
        let echo = Echo { token: 9, counts, mss: 1400, priority: Priority::Backup, padding: 1 };
        let octets = [1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2, 5, 120, 1, 0];
        assert_eq!(written(Frame::Ping(echo)), octets);
    }
}
