//! Observations of a host, and the state of its streams.

use fairwave_wire::shake::Reason;

/// Observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session has keys; this end opened it.
    Connected {
        /// Its number.
        session: usize,
    },
    /// A session is over, and all its streams.
    Ended {
        /// Its number.
        session: usize,
    },
    /// The peer opened a stream.
    Accepted {
        /// The session's number.
        session: usize,
        /// The stream's number in it.
        stream: usize,
    },
    /// A stream may be readable, writable or over.
    Stream {
        /// The session's number.
        session: usize,
        /// The stream's number in it.
        stream: usize,
    },
    /// A datagram of an application has arrived.
    Datagram {
        /// The session's number.
        session: usize,
        /// Its flow.
        flow: u32,
    },
    /// A path has answered, at first, again, or with a larger packet.
    PathUp {
        /// The session's number.
        session: usize,
        /// Its id.
        path: u8,
    },
}

/// State of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// Bytes that a write takes now.
    pub send_space: u32,
    /// Whether the peer's bytes have ended and were read.
    pub is_read_to_the_end: bool,
    /// Whether it has ended, one way or the other.
    pub is_over: bool,
    /// Reason for which it is over before its end.
    pub reset: Option<Reason>,
}

/// Datagrams that were not believed, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// No datagram of a session.
    pub malformed: u64,
    /// Of a session that there is not.
    pub unknown: u64,
    /// Not sealed with the session's keys, or repeated.
    pub forged: u64,
    /// Handshakes without the secret.
    pub strangers: u64,
    /// Handshakes beyond the number of sessions.
    pub crowded: u64,
}
