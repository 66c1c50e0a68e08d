//! Prefaces and headers as payload of a connection: as bytes, or beside payload that is only
//! counted.

use bytes::Bytes;
use fairwave_tcp::{Payload, Virtual};
use fairwave_wire::multi::{Error, HEADER_LEN, Header, PREFACE_LEN, Preface};
use std::collections::VecDeque;
use thiserror::Error;

/// Content of a connection's stream beside the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// At its beginning.
    Preface(Preface),
    /// Before each block.
    Header(Header),
}

/// Reason for which there is no mark where one must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MarkError {
    /// The bytes are none.
    #[error(transparent)]
    Wire(#[from] Error),
    /// The stream has lengths only, and the host did not pass their content.
    #[error("the content of the mark did not arrive with the stream")]
    Missing,
}

/// Payload on whose streams marks can travel.
pub trait Marked: Payload {
    /// Returns a mark as payload. The part that the payload cannot hold goes to `aside`.
    fn of(mark: &Mark, aside: &mut VecDeque<Mark>) -> Self;

    /// Reads the preface from this payload; `aside` holds the other end's part.
    ///
    /// # Errors
    /// If it is none.
    fn preface(&self, aside: &mut VecDeque<Mark>) -> Result<Preface, MarkError>;

    /// The header that this payload is, likewise.
    ///
    /// # Errors
    /// If it is none.
    fn header(&self, aside: &mut VecDeque<Mark>) -> Result<Header, MarkError>;
}

impl Mark {
    /// Bytes that it takes.
    pub const fn wire_len(&self) -> u32 {
        match self {
            Self::Preface(_) => PREFACE_LEN as u32,
            Self::Header(_) => HEADER_LEN as u32,
        }
    }
}

impl Marked for Bytes {
    fn of(mark: &Mark, _aside: &mut VecDeque<Mark>) -> Self {
        let mut out = Vec::with_capacity(PREFACE_LEN);
        match mark {
            Mark::Preface(preface) => preface.write(&mut out),
            Mark::Header(header) => header.write(&mut out),
        }
        .expect("a set numbers its connections, and no stream gets to 2^62");
        out.into()
    }

    fn preface(&self, _aside: &mut VecDeque<Mark>) -> Result<Preface, MarkError> {
        Ok(Preface::parse(self)?.0)
    }

    fn header(&self, _aside: &mut VecDeque<Mark>) -> Result<Header, MarkError> {
        Ok(Header::parse(self)?.0)
    }
}

/// A length does not show its content: marks travel beside the stream, in its order, which is exact
/// because TCP delivers the stream as it was written.
impl Marked for Virtual {
    fn of(mark: &Mark, aside: &mut VecDeque<Mark>) -> Self {
        aside.push_back(*mark);
        Self(mark.wire_len())
    }

    fn preface(&self, aside: &mut VecDeque<Mark>) -> Result<Preface, MarkError> {
        match aside.pop_front() {
            Some(Mark::Preface(preface)) => Ok(preface),
            _ => Err(MarkError::Missing),
        }
    }

    fn header(&self, aside: &mut VecDeque<Mark>) -> Result<Header, MarkError> {
        match aside.pop_front() {
            Some(Mark::Header(header)) => Ok(header),
            _ => Err(MarkError::Missing),
        }
    }
}
