//! Copies bytes between the two connections (legs) of a flow.

use crate::flow::Flow;
use crate::targets::Direction;
use fairwave_linux::keep_on_close;
use std::cell::RefCell;
use std::io;
use std::net::Shutdown;
use std::rc::Rc;
use tokio::net::TcpStream;
use tokio::task::yield_now;

/// Maximum number of bytes per read, which is also the maximum that a flow buffers per direction.
pub const PIECE_BYTES: usize = 128 << 10;
/// Maximum number of reads of a direction before other flows are served.
const PIECES_A_TURN: usize = 8;

/// The read buffer, which all flows of the thread share.
pub(crate) type Scratch = Rc<RefCell<Vec<u8>>>;

/// Returns a new read buffer.
pub(crate) fn scratch() -> Scratch {
    Rc::new(RefCell::new(vec![0; PIECE_BYTES]))
}

/// Copies both directions until both have ended. `early` is the data that the client sent behind
/// its request. Unless both end, the legs are still reset when they are closed.
pub(crate) async fn carry(flow: &Flow, scratch: &Scratch, early: Vec<u8>) -> io::Result<()> {
    let up = direction(flow, Direction::Up, scratch, early);
    let down = direction(flow, Direction::Down, scratch, Vec::new());
    tokio::try_join!(up, down)?;
    // Both have sent their FIN behind all data, which the kernel may still retransmit.
    [&flow.near, &flow.far].into_iter().for_each(keep_on_close);
    Ok(())
}

/// Copies one direction until its sender ends the stream, then ends the stream to the receiver.
async fn direction(
    flow: &Flow,
    way: Direction,
    scratch: &Scratch,
    early: Vec<u8>,
) -> io::Result<()> {
    let (from, to) = match way {
        Direction::Up => (&flow.near, &flow.far),
        Direction::Down => (&flow.far, &flow.near),
    };
    let mut held = early;
    loop {
        if !held.is_empty() {
            flush(flow, way, to, std::mem::take(&mut held)).await?;
        }
        from.readable().await?;
        match turn(flow, way, from, to, scratch)? {
            Turn::Empty => {}
            Turn::Full(rest) => held = rest,
            Turn::Over => yield_now().await,
            // Only the sending half of the other leg is closed, below: the other direction may
            // still carry data (half-close, RFC 9293 section 3.6).
            Turn::Ended => break,
        }
    }
    // An error here means that the receiver is gone, which the other direction's read from it
    // reports.
    let _ = socket2::SockRef::from(to).shutdown(Shutdown::Write);
    Ok(())
}

/// Outcome of a turn.
enum Turn {
    /// Nothing is left to read.
    Empty,
    /// The other leg has no room for these bytes.
    Full(Vec<u8>),
    /// The maximum number of reads is used up; other flows are next.
    Over,
    /// The sender has ended the stream.
    Ended,
}

/// Reads and writes without blocking, up to [`PIECES_A_TURN`] times.
fn turn(
    flow: &Flow,
    way: Direction,
    from: &TcpStream,
    to: &TcpStream,
    scratch: &Scratch,
) -> io::Result<Turn> {
    let mut scratch = scratch.borrow_mut();
    for _ in 0..PIECES_A_TURN {
        let length = match from.try_read(&mut scratch) {
            Ok(0) => return Ok(Turn::Ended),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Turn::Empty),
            Err(error) => return Err(error),
        };
        let written = try_write(to, &scratch[..length])?;
        flow.count(way, written);
        if written < length {
            // Only the rest is copied: while both sockets keep up, a flow owns no buffer.
            return Ok(Turn::Full(scratch[written..length].to_vec()));
        }
    }
    Ok(Turn::Over)
}

/// Writes as much as the socket accepts.
fn try_write(to: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match to.try_write(bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        written => written,
    }
}

/// Writes all bytes, and waits while the receiver does not accept them.
async fn flush(flow: &Flow, way: Direction, to: &TcpStream, held: Vec<u8>) -> io::Result<()> {
    let mut written = 0;
    let _waiting = flow.wait(way);
    while written < held.len() {
        to.writable().await?;
        let more = try_write(to, &held[written..])?;
        flow.count(way, more);
        written += more;
    }
    Ok(())
}
