//! Carrying bytes between the legs of a flow.

use crate::flow::{Flow, Way};
use crate::options;
use std::cell::RefCell;
use std::io;
use std::net::Shutdown;
use std::rc::Rc;
use tokio::net::TcpStream;
use tokio::task::yield_now;

/// The most that is read at once, in bytes, and the most that a flow holds for one direction.
pub const PIECE_BYTES: usize = 128 << 10;
/// Number of pieces that a direction carries before others have their turn.
const PIECES_A_TURN: usize = 8;

/// The place where all flows of the thread read to.
pub(crate) type Scratch = Rc<RefCell<Vec<u8>>>;

/// A new place to read to.
pub(crate) fn scratch() -> Scratch {
    Rc::new(RefCell::new(vec![0; PIECE_BYTES]))
}

/// Carries both directions until both have ended; `early` is what the client sent beyond its
/// request. Where a leg breaks, both are reset.
pub(crate) async fn carry(flow: &Flow, scratch: &Scratch, early: Vec<u8>) -> io::Result<()> {
    let up = direction(flow, Way::Up, scratch, early);
    let down = direction(flow, Way::Down, scratch, Vec::new());
    let carried = tokio::try_join!(up, down);
    if carried.is_err() {
        options::reset_on_close(&flow.near);
        options::reset_on_close(&flow.far);
    }
    carried.map(drop)
}

/// Carries one direction to its end, and passes the end on.
async fn direction(flow: &Flow, way: Way, scratch: &Scratch, early: Vec<u8>) -> io::Result<()> {
    let (from, to) = match way {
        Way::Up => (&flow.near, &flow.far),
        Way::Down => (&flow.far, &flow.near),
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
            Turn::Ended => break,
        }
    }
    // Where the receiver has gone meanwhile, reading from it tells.
    let _ = socket2::SockRef::from(to).shutdown(Shutdown::Write);
    Ok(())
}

/// How a turn ended.
enum Turn {
    /// Nothing is left to read.
    Empty,
    /// The other leg has no room for these bytes.
    Full(Vec<u8>),
    /// Others have their turn.
    Over,
    /// The sender has ended.
    Ended,
}

/// Reads and writes without waiting.
fn turn(
    flow: &Flow,
    way: Way,
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
            return Ok(Turn::Full(scratch[written..length].to_vec()));
        }
    }
    Ok(Turn::Over)
}

/// Writes what the socket takes.
fn try_write(to: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match to.try_write(bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        written => written,
    }
}

/// Writes all, whenever the receiver takes it.
async fn flush(flow: &Flow, way: Way, to: &TcpStream, held: Vec<u8>) -> io::Result<()> {
    let mut written = 0;
    while written < held.len() {
        flow.held_up(way);
        to.writable().await?;
        let more = try_write(to, &held[written..])?;
        flow.count(way, more);
        written += more;
    }
    Ok(())
}
