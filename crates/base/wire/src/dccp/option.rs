//! DCCP options (RFC 4340 section 5.8, table 3; RFC 4342 section 8; RFC 5622 section 8).

use super::LossIntervals;
use smallvec::SmallVec;
use thiserror::Error;

/// Data of one option in bytes: the length has eight bits and counts two more.
const DATA_LEN_MAX: usize = 253;
/// Bytes of options that are held without an allocation: feedback of CCID 3 takes 110.
const INLINE: usize = 128;

const MANDATORY: u8 = 1;
const SLOW_RECEIVER: u8 = 2;
const CHANGE_L: u8 = 32;
const CONFIRM_L: u8 = 33;
const CHANGE_R: u8 = 34;
const CONFIRM_R: u8 = 35;
const INIT_COOKIE: u8 = 36;
const NDP_COUNT: u8 = 37;
const ACK_VECTOR_0: u8 = 38;
const ACK_VECTOR_1: u8 = 39;
const DATA_DROPPED: u8 = 40;
const TIMESTAMP: u8 = 41;
const TIMESTAMP_ECHO: u8 = 42;
const ELAPSED_TIME: u8 = 43;
const DATA_CHECKSUM: u8 = 44;
const LOSS_EVENT_RATE: u8 = 192;
const LOSS_INTERVALS: u8 = 193;
const RECEIVE_RATE: u8 = 194;

/// The end that a feature belongs to, as the sender of the option sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The feature is the sender's own: Change L, Confirm L.
    Local,
    /// The feature is the other end's: Change R, Confirm R.
    Remote,
}

/// An option with its content. Times are in units of 10 us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// The receiver cannot follow (type 2).
    SlowReceiver,
    /// Opens a negotiation (types 32 and 34).
    Change {
        /// Whose feature.
        side: Side,
        /// Its number.
        feature: u8,
        /// At least one byte: a value, or a list in order of preference.
        values: &'a [u8],
    },
    /// Ends a negotiation (types 33 and 35).
    Confirm {
        /// Whose feature.
        side: Side,
        /// Its number.
        feature: u8,
        /// The value agreed and perhaps a list; empty if the feature or value is not known.
        values: &'a [u8],
    },
    /// The state that a server did not want to keep (type 36).
    InitCookie(&'a [u8]),
    /// Packets without data just before this one (type 37), below 2^48.
    NdpCount(u64),
    /// Received packets (types 38 and 39); [`super::Runs`] reads it.
    AckVector {
        /// Sum of the ECN nonces of packets that arrived unmarked.
        nonce_echo: bool,
        /// State and run length a byte.
        vector: &'a [u8],
    },
    /// Packets that arrived and were not delivered (type 40); [`super::Runs`] reads it.
    DataDropped(&'a [u8]),
    /// The sender's clock (type 41).
    Timestamp(u32),
    /// A clock returned (type 42).
    TimestampEcho {
        /// The clock.
        echo: u32,
        /// Time since it arrived.
        elapsed: u32,
    },
    /// Time since the packet that is acknowledged arrived (type 43).
    ElapsedTime(u32),
    /// CRC-32c of the application data (type 44).
    DataChecksum(u32),
    /// Inverse of the loss event rate, rounded up; `u32::MAX` for none (type 192).
    LossEventRate(u32),
    /// Loss intervals, newest first (type 193).
    LossIntervals {
        /// Packets up to the acknowledged one that are in no interval yet, at most 3.
        skip: u8,
        /// The intervals.
        intervals: LossIntervals<'a>,
    },
    /// Bytes a second received since the last such report (type 194).
    ReceiveRate(u32),
    /// Any other of a congestion control, 128 to 255. Of CCID 4, 195 is Dropped Packets: three
    /// bytes a loss interval (RFC 5622 section 8.7).
    Ccid {
        /// Its type.
        kind: u8,
        /// Its data, at most 253 bytes.
        data: &'a [u8],
    },
}

/// Reason for which an option says nothing, or cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OptionError {
    /// A type that is reserved.
    #[error("option type {kind} at offset {offset} is not known")]
    Unknown {
        /// Its type.
        kind: u8,
        /// Offset among the options, in bytes.
        offset: usize,
    },
    /// Data that its type does not have.
    #[error("option type {kind} at offset {offset} has {len} bytes of data, or values it may not")]
    Data {
        /// Its type.
        kind: u8,
        /// Offset among the options, in bytes.
        offset: usize,
        /// Length of its data in bytes.
        len: usize,
    },
    /// No room for it: a header holds 1008 bytes of options at most.
    #[error("option type {kind} at offset {offset} does not fit, a header ends at 1008")]
    Full {
        /// Its type.
        kind: u8,
        /// Offset that it would have among the options, in bytes.
        offset: usize,
    },
}

/// An option as it lies in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// Offset among the options, in bytes.
    pub offset: usize,
    /// Its type.
    pub kind: u8,
    /// Its data, at most 253 bytes.
    pub data: &'a [u8],
    /// Whether a Mandatory option stands before it.
    pub mandatory: bool,
}

/// The options of a header, in order, without padding. As RFC 4340 section 5.8 has it, they end
/// at the first whose length is nonsense.
///
/// A Mandatory option with nothing behind it, or with a second one, comes out as an item of type 1:
/// it is an error of the connection (section 5.8.2).
#[derive(Clone, Debug)]
pub struct Items<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Items<'a> {
    /// Returns the options in an options area.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns type and data of the option at the cursor, which moves behind it.
    fn raw(&mut self) -> Option<(usize, u8, &'a [u8])> {
        let offset = self.at;
        let rest = self.bytes.get(offset..)?;
        let &kind = rest.first()?;
        let (len, data) = match kind {
            0..=31 => (1, &rest[..0]),
            _ => {
                let len = usize::from(*rest.get(1)?);
                (len, rest.get(2..len)?)
            }
        };
        self.at = offset + len;
        Some((offset, kind, data))
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        loop {
            let (offset, kind, data) = self.raw()?;
            if kind == 0 {
                continue;
            }
            if kind != MANDATORY {
                return Some(Item { offset, kind, data, mandatory: false });
            }
            match self.raw() {
                // "Mandatory Padding" is two bytes of padding.
                Some((_, 0, _)) => {}
                Some((offset, kind, data)) if kind != MANDATORY => {
                    return Some(Item { offset, kind, data, mandatory: true });
                }
                _ => return Some(Item { offset, kind, data, mandatory: true }),
            }
        }
    }
}

impl<'a> Item<'a> {
    /// Its content.
    ///
    /// # Errors
    /// [`OptionError::Unknown`] and [`OptionError::Data`]; both are to be ignored unless the
    /// option is mandatory.
    pub fn value(&self) -> Result<Value<'a>, OptionError> {
        let Self { offset, kind, data, .. } = *self;
        if matches!(kind, 0 | MANDATORY | 3..=31 | 45..=127) {
            return Err(OptionError::Unknown { kind, offset });
        }
        self.known().ok_or(OptionError::Data { kind, offset, len: data.len() })
    }

    fn known(&self) -> Option<Value<'a>> {
        let data = self.data;
        Some(match self.kind {
            SLOW_RECEIVER => Value::SlowReceiver,
            CHANGE_L | CHANGE_R => {
                let (&feature, values) = data.split_first().filter(|(_, v)| !v.is_empty())?;
                Value::Change { side: side(self.kind), feature, values }
            }
            CONFIRM_L | CONFIRM_R => {
                let (&feature, values) = data.split_first()?;
                Value::Confirm { side: side(self.kind), feature, values }
            }
            INIT_COOKIE => Value::InitCookie(data),
            NDP_COUNT if matches!(data.len(), 1..=6) => Value::NdpCount(number(data)),
            ACK_VECTOR_0 | ACK_VECTOR_1 => {
                Value::AckVector { nonce_echo: self.kind == ACK_VECTOR_1, vector: data }
            }
            DATA_DROPPED => Value::DataDropped(data),
            TIMESTAMP => Value::Timestamp(word(data)?),
            TIMESTAMP_ECHO => {
                let (echo, elapsed) = data.split_at_checked(4)?;
                let elapsed = matches!(elapsed.len(), 0 | 2 | 4).then(|| number(elapsed) as u32)?;
                Value::TimestampEcho { echo: word(echo)?, elapsed }
            }
            ELAPSED_TIME if matches!(data.len(), 2 | 4) => Value::ElapsedTime(number(data) as u32),
            DATA_CHECKSUM => Value::DataChecksum(word(data)?),
            LOSS_EVENT_RATE => Value::LossEventRate(word(data)?),
            LOSS_INTERVALS => {
                let (&skip, intervals) = data.split_first()?;
                let intervals = LossIntervals::from_bytes(intervals)?;
                (skip <= super::SKIP_LENGTH_MAX)
                    .then_some(Value::LossIntervals { skip, intervals })?
            }
            RECEIVE_RATE => Value::ReceiveRate(word(data)?),
            kind @ 128.. => Value::Ccid { kind, data },
            _ => return None,
        })
    }
}

fn side(kind: u8) -> Side {
    if matches!(kind, CHANGE_L | CONFIRM_L) { Side::Local } else { Side::Remote }
}

fn word(data: &[u8]) -> Option<u32> {
    data.try_into().ok().map(u32::from_be_bytes)
}

/// Big-endian, of up to eight bytes.
fn number(data: &[u8]) -> u64 {
    data.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The options of a header: bytes without the padding at their end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(SmallVec<[u8; INLINE]>);

/// Room for options behind any header: the longest before them, a Response's, has 28 bytes.
const ROOM: usize = super::HEADER_LEN_MAX - 28;

impl Options {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// The options that an options area holds, taken as they are.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(SmallVec::from_slice(bytes))
    }

    /// Their bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Their length in bytes, without padding.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The room they take in a header, in words of four bytes; more than a header holds comes
    /// out as 255, and is refused by [`super::Header::write`].
    pub fn words(&self) -> u8 {
        self.0.len().div_ceil(4).min(255) as u8
    }

    /// The options one by one.
    pub fn items(&self) -> Items<'_> {
        Items::new(&self.0)
    }

    /// Returns the options that are understood.
    pub fn values(&self) -> impl Iterator<Item = Value<'_>> {
        self.items().filter_map(|item| item.value().ok())
    }

    /// Adds an option.
    ///
    /// # Errors
    /// [`OptionError::Data`] for data that no option of its type may have, [`OptionError::Full`]
    /// where a header ends; then nothing is added.
    pub fn push(&mut self, value: Value<'_>) -> Result<(), OptionError> {
        let start = self.0.len();
        let kind = self.append(value);
        let len = self.0.len() - start;
        let item = Items::new(&self.0[start..]).next();
        let legal = item.is_some_and(|item| item.value() == Ok(value));
        let fits = self.0.len() <= ROOM;
        if legal && fits {
            return Ok(());
        }
        self.0.truncate(start);
        Err(match legal {
            true => OptionError::Full { kind, offset: start },
            false => OptionError::Data { kind, offset: start, len: len.saturating_sub(2) },
        })
    }

    /// Adds an option with a Mandatory before it.
    ///
    /// # Errors
    /// As [`Options::push`].
    pub fn push_mandatory(&mut self, value: Value<'_>) -> Result<(), OptionError> {
        self.0.push(MANDATORY);
        let pushed = self.push(value);
        if pushed.is_err() {
            self.0.pop();
        }
        pushed
    }

    /// Appends without looking at lengths; returns the type.
    fn append(&mut self, value: Value<'_>) -> u8 {
        match value {
            Value::SlowReceiver => {
                self.0.push(SLOW_RECEIVER);
                SLOW_RECEIVER
            }
            Value::Change { side: Side::Local, feature, values } => {
                self.add(CHANGE_L, &[&[feature], values])
            }
            Value::Change { side: Side::Remote, feature, values } => {
                self.add(CHANGE_R, &[&[feature], values])
            }
            Value::Confirm { side: Side::Local, feature, values } => {
                self.add(CONFIRM_L, &[&[feature], values])
            }
            Value::Confirm { side: Side::Remote, feature, values } => {
                self.add(CONFIRM_R, &[&[feature], values])
            }
            Value::InitCookie(data) => self.add(INIT_COOKIE, &[data]),
            Value::NdpCount(count) => {
                let bytes = count.to_be_bytes();
                let zeros = (count.leading_zeros() / 8).min(7) as usize;
                self.add(NDP_COUNT, &[&bytes[zeros..]])
            }
            Value::AckVector { nonce_echo: false, vector } => self.add(ACK_VECTOR_0, &[vector]),
            Value::AckVector { nonce_echo: true, vector } => self.add(ACK_VECTOR_1, &[vector]),
            Value::DataDropped(vector) => self.add(DATA_DROPPED, &[vector]),
            Value::Timestamp(clock) => self.add(TIMESTAMP, &[&clock.to_be_bytes()]),
            Value::TimestampEcho { echo, elapsed } => {
                let bytes = elapsed.to_be_bytes();
                let elapsed = if elapsed == 0 { &[][..] } else { short(&bytes) };
                self.add(TIMESTAMP_ECHO, &[&echo.to_be_bytes(), elapsed])
            }
            Value::ElapsedTime(time) => self.add(ELAPSED_TIME, &[short(&time.to_be_bytes())]),
            Value::DataChecksum(crc) => self.add(DATA_CHECKSUM, &[&crc.to_be_bytes()]),
            Value::LossEventRate(inverse) => self.add(LOSS_EVENT_RATE, &[&inverse.to_be_bytes()]),
            Value::LossIntervals { skip, intervals } => {
                self.add(LOSS_INTERVALS, &[&[skip], intervals.as_bytes()])
            }
            Value::ReceiveRate(rate) => self.add(RECEIVE_RATE, &[&rate.to_be_bytes()]),
            Value::Ccid { kind, data } => self.add(kind, &[data]),
        }
    }

    fn add(&mut self, kind: u8, parts: &[&[u8]]) -> u8 {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        // What is too long gets a length of nonsense, by which `push` knows it.
        let stated = if len <= DATA_LEN_MAX { len as u8 + 2 } else { 0 };
        self.0.extend_from_slice(&[kind, stated]);
        for part in parts {
            self.0.extend_from_slice(part);
        }
        kind
    }
}

/// The shorter form of a time, where it fits: two bytes below 0.65536 s (RFC 4340 section 13.2).
fn short(bytes: &[u8; 4]) -> &[u8] {
    if bytes[..2] == [0, 0] { &bytes[2..] } else { bytes }
}
