//! A control connection: sealed frames of JSON, after each end has proved that it has the key.

use fairwave_linux::clock::Clock;
use fairwave_linux::random::fill;
use fairwave_units::{Duration, Instant};
use fairwave_wire::fairness::{
    CHALLENGE_LEN, NONCE_LEN, Nonce, Opener, Opening, Sealer, Way, challenge, read_challenge,
    session_key,
};
use fairwave_wire::seal::Key;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, PoisonError};

/// Maximum length of a message at the server.
const MAX_AT_SERVER: usize = 8 << 20;
/// Maximum length of a message at a host: the results of all hosts.
const MAX_AT_HOST: usize = 64 << 20;
/// Maximum time for each end to prove that it has the key.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Time after which a peer that does not read is dropped.
const STALLED: std::time::Duration = std::time::Duration::from_secs(2);

/// The sending half.
#[derive(Debug)]
pub(super) struct Link {
    stream: TcpStream,
    sealer: Mutex<Sealer>,
}

/// The receiving half.
#[derive(Debug)]
pub(super) struct Inbox {
    stream: TcpStream,
    opener: Opener,
    chunk: Vec<u8>,
}

impl Link {
    /// Sends a message.
    ///
    /// # Errors
    /// If the connection is gone, or the peer does not read.
    pub(super) fn send<T: Serialize>(&self, message: &T) -> io::Result<()> {
        let body = serde_json::to_vec(message)?;
        // Frames are sent one at a time, as their seals are numbered.
        let mut sealer = self.sealer.lock().unwrap_or_else(PoisonError::into_inner);
        let frame = sealer.seal(&body).map_err(invalid)?;
        (&self.stream).write_all(&frame)
    }

    /// Ends the connection, which its reader notices too.
    pub(super) fn close(&self) {
        // It may already be closed.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Inbox {
    /// Receives the next message; `None` if none is complete after `patience`.
    ///
    /// # Errors
    /// If the connection has ended, or the received bytes are not a message.
    pub(super) fn next<T: DeserializeOwned>(
        &mut self,
        patience: std::time::Duration,
    ) -> io::Result<Option<T>> {
        if let Some(body) = self.opener.open().map_err(invalid)? {
            return Ok(Some(serde_json::from_slice(&body)?));
        }
        self.stream.set_read_timeout(Some(patience))?;
        match self.stream.read(&mut self.chunk) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(len) => self.opener.push(&self.chunk[..len]),
            Err(error) if super::is_transient(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
        let body = self.opener.open().map_err(invalid)?;
        body.map(|body| Ok(serde_json::from_slice(&body)?)).transpose()
    }
}

fn invalid(error: fairwave_wire::fairness::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

/// A random number that is used once.
fn nonce() -> io::Result<Nonce> {
    let mut nonce = [0; NONCE_LEN];
    fill(&mut nonce)?;
    Ok(nonce)
}

/// Authenticates a host to the server. Returns both halves of the connection and the key of the
/// session.
///
/// # Errors
/// [`ErrorKind::InvalidData`] if the server has another key. A server that closes the connection or
/// falls silent may have another key, too.
pub(super) fn greet(
    mut stream: TcpStream,
    key: &Key,
    clock: Clock,
) -> io::Result<(Link, Inbox, Key)> {
    let host = nonce()?;
    stream.write_all(&Opening::Control(host).write(key))?;
    let mut answer = [0; CHALLENGE_LEN];
    read_exact(&mut stream, &mut answer, clock, clock.now() + PATIENCE)?;
    let server = read_challenge(&answer, key, &host).map_err(invalid)?;
    let session = session_key(key, &host, &server);
    let (link, inbox) = halves(stream, &session, Way::ToServer, MAX_AT_HOST)?;
    Ok((link, inbox, session))
}

/// Authenticates the server to a host whose opening, with this nonce, has been verified.
///
/// # Errors
/// If the connection is gone.
pub(super) fn answer(
    mut stream: TcpStream,
    key: &Key,
    host: &Nonce,
) -> io::Result<(Link, Inbox, Key)> {
    let server = nonce()?;
    stream.write_all(&challenge(key, host, &server))?;
    let session = session_key(key, host, &server);
    let (link, inbox) = halves(stream, &session, Way::ToHost, MAX_AT_SERVER)?;
    Ok((link, inbox, session))
}

fn halves(stream: TcpStream, key: &Key, way: Way, max: usize) -> io::Result<(Link, Inbox)> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(STALLED))?;
    let back = match way {
        Way::ToHost => Way::ToServer,
        Way::ToServer => Way::ToHost,
    };
    let opener = Opener::new(key.clone(), back, max);
    let inbox = Inbox { stream: stream.try_clone()?, opener, chunk: vec![0; 16 << 10] };
    Ok((Link { stream, sealer: Mutex::new(Sealer::new(key.clone(), way)) }, inbox))
}

/// Fills a buffer before a deadline, at any rate of arrival.
///
/// # Errors
/// If not all bytes arrive in time.
pub(super) fn read_exact(
    stream: &mut TcpStream,
    mut rest: &mut [u8],
    clock: Clock,
    deadline: Instant,
) -> io::Result<()> {
    while !rest.is_empty() {
        let left = deadline.since(clock.now()).as_nanos();
        if left == 0 {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(std::time::Duration::from_nanos(left)))?;
        match stream.read(rest) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(len) => rest = &mut rest[len..],
            Err(error) if super::is_transient(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
