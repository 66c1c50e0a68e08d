//! Formats of `fairwave fairness`, Fairwave's own: the opening of its connections and datagrams,
//! and the frames of its control connection. `docs/fairness.md` has them byte by byte.
//!
//! A connection begins with an [`Opening`] of 40 bytes, and so does each datagram. The server
//! answers an opening of [`Opening::Control`] with a challenge. Both ends derive the key of the
//! session from the two nonces, and every frame that follows is sealed with it and numbered by its
//! [`Way`], so that a recorded frame passes neither twice nor back to its sender.

pub use crate::message::Error;

use crate::message::Format;
use crate::reader::Reader;
use crate::seal::{Key, TAG_LEN, Tag};

/// Length of an opening in bytes.
pub const OPENING_LEN: usize = 40;
/// Length of a challenge in bytes.
pub const CHALLENGE_LEN: usize = NONCE_LEN + TAG_LEN;
/// Length of a nonce in bytes.
pub const NONCE_LEN: usize = 16;
/// The number of a datagram that carries no data: it asks for an answer of the same length.
pub const GREETING: u32 = u32::MAX;

const FORMAT: Format = Format { name: "fairness", magic: *b"FWfr", version: 1 };
const LABEL: &str = "fairness";
/// Length of the head of a frame: the body's length and its seal.
const FRAME_HEAD: usize = 4 + TAG_LEN;
const CONTROL: u8 = 1;
const FLOW: u8 = 2;
const DATAGRAM: u8 = 3;

/// A number that is used once.
pub type Nonce = [u8; NONCE_LEN];

/// A flow of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowLabel {
    /// The session of the host.
    pub session: u64,
    /// The repetition, from 0.
    pub repetition: u16,
    /// The flow of the host, from 0.
    pub flow: u16,
}

/// Opening of a connection or a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A control connection begins. Sealed with the shared key.
    Control(Nonce),
    /// The TCP connection of a flow begins. Sealed with the key of the session.
    Flow(FlowLabel),
    /// A datagram of a flow, with its number from 0 or [`GREETING`]. Sealed with the key of the
    /// session; the seal does not cover the payload behind it.
    Datagram(FlowLabel, u32),
}

impl Opening {
    /// Reads an unauthenticated opening: check it by [`verify`] before it is used.
    ///
    /// # Errors
    /// If the bytes cannot be an opening of this version.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        FORMAT.read(&mut reader)?;
        let kind = reader.u8("kind")?;
        if reader.u16_be("reserved")? != 0 {
            return Err(Error::NotZero { field: "reserved at offset 6" });
        }
        let opening = match kind {
            CONTROL => Self::Control(reader.array("nonce")?),
            FLOW | DATAGRAM => {
                let label = FlowLabel {
                    session: reader.u64_be("session")?,
                    repetition: reader.u16_be("repetition")?,
                    flow: reader.u16_be("flow")?,
                };
                match (kind, reader.u32_be("number")?) {
                    (DATAGRAM, number) => Self::Datagram(label, number),
                    (_, 0) => Self::Flow(label),
                    _ => return Err(Error::NotZero { field: "number at offset 20" }),
                }
            }
            found => return Err(Error::Kind { found }),
        };
        reader.take(TAG_LEN, "seal")?;
        Ok(opening)
    }

    /// The opening, sealed.
    #[must_use]
    pub fn write(self, key: &Key) -> [u8; OPENING_LEN] {
        let mut out = Vec::with_capacity(OPENING_LEN);
        FORMAT.write(&mut out);
        let (kind, label, number) = match self {
            Self::Control(_) => (CONTROL, None, 0),
            Self::Flow(label) => (FLOW, Some(label), 0),
            Self::Datagram(label, number) => (DATAGRAM, Some(label), number),
        };
        out.extend([kind, 0, 0]);
        if let Self::Control(nonce) = self {
            out.extend(nonce);
        }
        if let Some(FlowLabel { session, repetition, flow }) = label {
            out.extend(session.to_be_bytes());
            out.extend(repetition.to_be_bytes());
            out.extend(flow.to_be_bytes());
            out.extend(number.to_be_bytes());
        }
        let tag = key.tag(LABEL, &[&out]);
        out.extend(tag.0);
        out.try_into().expect("every kind has as many bytes")
    }
}

/// Checks the seal of the opening that these bytes begin with.
///
/// # Errors
/// If there are too few bytes, or the key is another.
pub fn verify(bytes: &[u8], key: &Key) -> Result<(), Error> {
    let mut reader = Reader::new(bytes);
    let sealed = reader.take(OPENING_LEN - TAG_LEN, "opening")?;
    let tag = Tag(reader.array("seal")?);
    Ok(key.verify(LABEL, &[sealed], &tag)?)
}

/// The server's answer to an opening: its own nonce, sealed together with that of the host.
#[must_use]
pub fn challenge(key: &Key, host: &Nonce, server: &Nonce) -> [u8; CHALLENGE_LEN] {
    let tag = key.tag(LABEL, &[host, server]);
    [&server[..], &tag.0].concat().try_into().expect("a nonce and a seal")
}

/// The server's nonce, of its answer to an opening with the nonce `host`.
///
/// # Errors
/// If the server has another key.
pub fn read_challenge(
    bytes: &[u8; CHALLENGE_LEN],
    key: &Key,
    host: &Nonce,
) -> Result<Nonce, Error> {
    let mut reader = Reader::new(bytes);
    let server: Nonce = reader.array("nonce")?;
    key.verify(LABEL, &[host, &server], &Tag(reader.array("seal")?))?;
    Ok(server)
}

/// The key of one session.
#[must_use]
pub fn session_key(shared: &Key, host: &Nonce, server: &Nonce) -> Key {
    shared.derive(LABEL, &[host, server])
}

/// Direction of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From a host to the server.
    ToServer,
    /// From the server to a host.
    ToHost,
}

impl Way {
    const fn label(self) -> &'static str {
        match self {
            Self::ToServer => "fairness to server",
            Self::ToHost => "fairness to host",
        }
    }
}

/// Seals the frames of one way: the body's length in four bytes, the seal, the body.
#[derive(Debug)]
pub struct Sealer {
    key: Key,
    way: Way,
    count: u64,
}

impl Sealer {
    /// Of a session that begins.
    pub const fn new(key: Key, way: Way) -> Self {
        Self { key, way, count: 0 }
    }

    /// The next frame.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the length does not fit its field.
    pub fn seal(&mut self, body: &[u8]) -> Result<Vec<u8>, Error> {
        let too_long = Error::TooLong { len: body.len(), most: u32::MAX as usize };
        let len = u32::try_from(body.len()).map_err(|_| too_long)?;
        let tag = self.key.tag(self.way.label(), &[&self.count.to_be_bytes(), body]);
        self.count += 1;
        Ok([&len.to_be_bytes()[..], &tag.0, body].concat())
    }
}

/// Opens the frames of one way, out of a stream of bytes in any pieces.
#[derive(Debug)]
pub struct Opener {
    key: Key,
    way: Way,
    count: u64,
    most: usize,
    buffer: Vec<u8>,
}

impl Opener {
    /// Of a session that begins. No body may be longer than `most` bytes.
    pub const fn new(key: Key, way: Way, most: usize) -> Self {
        Self { key, way, count: 0, most, buffer: Vec::new() }
    }

    /// Takes bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend(bytes);
    }

    /// The body of the next frame; `None` if it is not whole yet.
    ///
    /// # Errors
    /// If the frame is too long or its seal does not fit. The stream is of no use then.
    pub fn open(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let Some(head) = self.buffer.get(..FRAME_HEAD) else { return Ok(None) };
        let mut reader = Reader::new(head);
        let len = reader.u32_be("length")? as usize;
        if len > self.most {
            return Err(Error::TooLong { len, most: self.most });
        }
        let tag = Tag(reader.array("seal")?);
        let Some(body) = self.buffer.get(FRAME_HEAD..FRAME_HEAD + len) else { return Ok(None) };
        self.key.verify(self.way.label(), &[&self.count.to_be_bytes(), body], &tag)?;
        let body = body.to_vec();
        self.buffer.drain(..FRAME_HEAD + len);
        self.count += 1;
        Ok(Some(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> Key {
        Key::new(b"sixteen bytes...").unwrap()
    }

    fn openings() -> impl Strategy<Value = Opening> {
        let label = (any::<u64>(), any::<u16>(), any::<u16>())
            .prop_map(|(session, repetition, flow)| FlowLabel { session, repetition, flow });
        prop_oneof![
            any::<Nonce>().prop_map(Opening::Control),
            label.clone().prop_map(Opening::Flow),
            (label, any::<u32>()).prop_map(|(label, number)| Opening::Datagram(label, number)),
        ]
    }

    #[test]
    fn both_ends_agree_on_a_session_key_and_a_stranger_does_not() {
        let (host, server) = ([1; NONCE_LEN], [2; NONCE_LEN]);
        let bytes = challenge(&key(), &host, &server);
        assert_eq!(read_challenge(&bytes, &key(), &host).unwrap(), server);
        assert!(read_challenge(&bytes, &key(), &server).is_err(), "of another session");
        let unknown = Key::new(b"sixteen others..").unwrap();
        assert!(read_challenge(&bytes, &unknown, &host).is_err());
    }

    #[test]
    fn a_frame_passes_once_in_its_order_and_its_way() {
        let mut sealer = Sealer::new(key(), Way::ToServer);
        let [one, other] = [&b"one"[..], b"other"].map(|body| sealer.seal(body).unwrap());
        let open = |way, frames: &[&[u8]]| {
            let mut opener = Opener::new(key(), way, 5);
            frames.iter().for_each(|frame| opener.push(frame));
            [opener.open(), opener.open()]
        };
        let bodies = [Ok(Some(b"one".to_vec())), Ok(Some(b"other".to_vec()))];
        assert_eq!(open(Way::ToServer, &[&one, &other]), bodies);
        assert!(open(Way::ToServer, &[&one, &one])[1].is_err(), "replayed");
        assert!(open(Way::ToServer, &[&other, &one])[0].is_err(), "exchanged");
        assert!(open(Way::ToHost, &[&one, &other])[0].is_err(), "sent back");
        let long = Sealer::new(key(), Way::ToServer).seal(b"longer").unwrap();
        assert!(matches!(
            open(Way::ToServer, &[&long])[0],
            Err(Error::TooLong { len: 6, most: 5 })
        ));
    }

    #[test]
    fn a_frame_may_come_byte_by_byte() {
        let frame = Sealer::new(key(), Way::ToHost).seal(b"body").unwrap();
        let mut opener = Opener::new(key(), Way::ToHost, 4);
        let (last, first) = frame.split_last().unwrap();
        for byte in first {
            opener.push(&[*byte]);
            assert_eq!(opener.open(), Ok(None));
        }
        opener.push(&[*last]);
        assert_eq!(opener.open(), Ok(Some(b"body".to_vec())));
    }

    proptest! {
        #[test]
        fn an_opening_is_read_as_it_was_written(opening in openings(), payload: Vec<u8>) {
            let bytes = opening.write(&key());
            let whole = [&bytes[..], &payload].concat();
            prop_assert_eq!(Opening::read(&whole), Ok(opening));
            prop_assert_eq!(verify(&whole, &key()), Ok(()));
            let mut changed = bytes;
            changed[23] ^= 1;
            prop_assert!(verify(&changed, &key()).is_err());
        }

        #[test]
        fn noise_is_an_error_and_no_panic(bytes: Vec<u8>, body: Vec<u8>) {
            if let Ok(opening) = Opening::read(&bytes) {
                prop_assert_eq!(&opening.write(&key())[..24], &bytes[..24]);
            }
            prop_assert!(verify(&bytes, &key()).is_err());
            let mut opener = Opener::new(key(), Way::ToHost, 100);
            opener.push(&body);
            prop_assert!(!matches!(opener.open(), Ok(Some(_))));
        }
    }
}
