//! A TCP connection of the kernel as a transport of datagrams, each behind its length in two
//! octets, as RFC 4571 frames RTP.

use crate::transport::{Left, Taken, Transport};
use fairwave_linux::clock::timespec;
use fairwave_machine::datagram::{Incoming, Outgoing};
use fairwave_units::Duration;
use fairwave_wire::ipv4::Ecn;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Octets of a length (RFC 4571, section 2).
const HEAD: usize = 2;
/// Bytes that are read at once, and bytes of frames beyond which no more are taken for sending.
const CHUNK: usize = 1 << 16;

/// One end of a connection that never blocks. Datagrams arrive whole and in order, or not at all: a
/// retransmission of the kernel's TCP is late, and neither marks nor times of arrival are known.
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    peer: SocketAddr,
    /// Received part of a frame that is not whole yet.
    incoming: Vec<u8>,
    /// Frames that were taken for sending, and how much of them the kernel has.
    outgoing: Vec<u8>,
    sent: usize,
    is_open: bool,
    receives: u64,
    sends: u64,
    unreadable: u64,
}

impl Stream {
    /// Connects to a peer, and waits for that.
    ///
    /// # Errors
    /// If no socket listens there, or the peer cannot be reached.
    pub fn connect(peer: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect(peer)?)
    }

    /// Takes over a connection, such as one that was accepted.
    ///
    /// # Errors
    /// If it is none any more, or the kernel refuses its options.
    pub fn over(socket: TcpStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        // A datagram does not wait for the next one (Nagle, RFC 9293 section 3.7.4).
        socket.set_nodelay(true)?;
        Ok(Self {
            peer: socket.peer_addr()?,
            socket,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            is_open: true,
            receives: 0,
            sends: 0,
            unreadable: 0,
        })
    }

    /// The other end. Datagrams come from this address, and may be sent to no other.
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Hands over the datagrams taken for sending; `WouldBlock` if some are left.
    fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.outgoing.len() {
            self.sends += 1;
            match (&self.socket).write(&self.outgoing[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                Err(error) => return Err(self.close(error)),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Ok(())
    }

    /// Nothing goes either way any more. Half a frame is counted as unreadable.
    fn close(&mut self, why: io::Error) -> io::Error {
        self.is_open = false;
        self.unreadable += u64::from(!self.incoming.is_empty());
        self.incoming.clear();
        self.outgoing.clear();
        self.sent = 0;
        why
    }

    /// Takes the frames that are whole. Empty ones, which RFC 4571 allows, carry nothing.
    fn take_frames(&mut self, into: &mut Vec<Taken>) {
        let mut at = 0;
        while let Some(frame) = first_frame(&self.incoming[at..]) {
            at += HEAD + frame.len();
            if frame.is_empty() {
                self.unreadable += 1;
                continue;
            }
            let datagram =
                Incoming { from: self.peer, to: None, ecn: Ecn::NotEct, bytes: frame.to_vec() };
            into.push(Taken { datagram, waited: Duration::ZERO });
        }
        self.incoming.drain(..at);
    }

    /// Puts a datagram behind those that wait to be sent.
    fn push(&mut self, one: &Outgoing) -> io::Result<()> {
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        if one.to != self.peer {
            let (to, peer) = (one.to, self.peer);
            return Err(invalid(format!("a datagram to {to} over a connection with {peer}")));
        }
        let bytes = one.bytes.len();
        let len = u16::try_from(bytes).map_err(|_| {
            invalid(format!("a datagram of {bytes} bytes; a frame has at most {}", u16::MAX))
        })?;
        self.outgoing.extend(len.to_be_bytes());
        self.outgoing.extend(&one.bytes);
        Ok(())
    }
}

/// The content of the frame that these bytes begin with; `None` if it is not whole.
fn first_frame(bytes: &[u8]) -> Option<&[u8]> {
    let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
    rest.get(..usize::from(u16::from_be_bytes(*head)))
}

impl Transport for Stream {
    fn receive(&mut self, into: &mut Vec<Taken>) -> io::Result<Left> {
        match self.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
        if !self.is_open {
            return Ok(Left::Nothing);
        }
        self.receives += 1;
        let before = self.incoming.len();
        self.incoming.resize(before + CHUNK, 0);
        let got = (&self.socket).read(&mut self.incoming[before..]);
        self.incoming.truncate(before + got.as_ref().copied().unwrap_or(0));
        match got {
            Ok(0) => {
                let why = format!("{} has closed the connection", self.peer);
                Err(self.close(io::Error::new(io::ErrorKind::UnexpectedEof, why)))
            }
            Ok(count) => {
                self.take_frames(into);
                Ok(if count < CHUNK { Left::Nothing } else { Left::Perhaps })
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Left::Nothing),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Left::Perhaps),
            Err(error) => Err(self.close(error)),
        }
    }

    fn send(&mut self, queue: &[Outgoing]) -> io::Result<usize> {
        self.flush()?;
        if !self.is_open {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let mut count = 0;
        for one in queue {
            if self.outgoing.len() >= CHUNK {
                break;
            }
            match self.push(one) {
                Ok(()) => count += 1,
                Err(error) if count == 0 => return Err(error),
                // It is refused when it is the first.
                Err(_) => break,
            }
        }
        match self.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            // What the kernel has no room for goes by the next call, whichever that is.
            _ => Ok(count),
        }
    }

    fn wait(&self, for_room: bool, max: Duration) -> io::Result<()> {
        let is_behind = !self.outgoing.is_empty();
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::OUT, for_room || is_behind);
        flags.set(PollFlags::IN, !for_room);
        let mut waiting = [PollFd::new(&self.socket, flags)];
        // The end of a connection would end each wait at once.
        let waiting = if self.is_open { &mut waiting[..] } else { &mut [] };
        match poll(waiting, Some(&timespec(max.as_nanos()))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn calls(&self) -> (u64, u64) {
        (self.receives, self.sends)
    }

    /// None: datagrams beyond a connection's room wait at its sender.
    fn dropped(&self) -> u64 {
        0
    }

    fn unreadable(&self) -> u64 {
        self.unreadable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Datagrams, Driver};
    use fairwave_linux::Clock;
    use fairwave_machine::Machine;
    use fairwave_units::Instant;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::net::TcpListener;
    use std::thread;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// Two ends of a connection over the loopback of a family.
    fn ends(any: &str) -> (Stream, TcpStream) {
        let listener = TcpListener::bind(any).unwrap();
        let here = Stream::connect(listener.local_addr().unwrap()).unwrap();
        (here, listener.accept().unwrap().0)
    }

    fn frame(bytes: &[u8]) -> Vec<u8> {
        [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
    }

    /// Receives until this number of datagrams is there, or the connection is over.
    fn received(stream: &mut Stream, count: usize) -> (Vec<Vec<u8>>, Option<io::Error>) {
        let (mut taken, mut end) = (Vec::new(), None);
        while taken.len() < count && end.is_none() {
            stream.wait(false, PATIENCE).unwrap();
            end = stream.receive(&mut taken).err();
        }
        (taken.into_iter().map(|one| one.datagram.bytes).collect(), end)
    }

    #[test]
    fn both_families_carry_datagrams_of_all_sizes_in_few_calls() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            let (mut here, there) = ends(any);
            let mut there = Stream::over(there).unwrap();
            let sizes = [1, 1400, 20, 500];
            let queue: Vec<Outgoing> =
                sizes.iter().map(|len| Outgoing::new(here.peer(), vec![7; *len])).collect();
            assert_eq!(here.send(&queue).unwrap(), 4);
            assert_eq!(here.calls().1, 1, "one call for all");
            let (came, end) = received(&mut there, 4);
            assert!(end.is_none());
            assert_eq!(came.iter().map(Vec::len).collect::<Vec<_>>(), sizes);
            let longest = Outgoing::new(there.peer(), vec![9; 65_535]);
            assert_eq!(there.send(&[longest]).unwrap(), 1);
            assert_eq!(received(&mut here, 1).0, [vec![9; 65_535]]);
        }
    }

    #[test]
    fn what_no_frame_or_connection_can_carry_is_refused() {
        let (mut here, _there) = ends("127.0.0.1:0");
        let long = Outgoing::new(here.peer(), vec![0; 65_536]);
        let good = Outgoing::new(here.peer(), vec![1]);
        let astray = Outgoing::new("127.0.0.1:9".parse().unwrap(), vec![1]);
        for bad in [long, astray] {
            assert_eq!(here.send(&[good.clone(), bad.clone()]).unwrap(), 1);
            let error = here.send(&[bad]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        }
    }

    #[test]
    fn a_peer_that_goes_in_mid_frame_is_said_once_and_then_nothing_is_waited_for() {
        let (mut here, mut there) = ends("127.0.0.1:0");
        there.write_all(&[&frame(b"whole")[..], &frame(b"")[..], &[0, 9, 1]].concat()).unwrap();
        drop(there);
        let (came, end) = received(&mut here, 2);
        assert_eq!(came, [b"whole"]);
        assert_eq!(end.unwrap().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(here.unreadable(), 2, "an empty frame, and half of one");
        assert_eq!(here.receive(&mut Vec::new()).unwrap(), Left::Nothing);
        let send = here.send(&[Outgoing::new(here.peer(), vec![1])]);
        assert_eq!(send.unwrap_err().kind(), io::ErrorKind::NotConnected);
    }

    #[test]
    fn a_reader_that_pauses_holds_the_sender_back_and_loses_nothing() {
        let (mut here, there) = ends("127.0.0.1:0");
        let mut there = Stream::over(there).unwrap();
        let one = |n: u32| Outgoing::new(here.peer, [&n.to_be_bytes()[..], &[5; 9000]].concat());
        let queue: Vec<Outgoing> = (0..4000).map(one).collect();
        let (mut left, mut blocked) = (&queue[..], false);
        let mut came = Vec::new();
        while !left.is_empty() {
            match here.send(left) {
                Ok(count) => left = &left[count..],
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                    blocked = true;
                    there.receive(&mut came).unwrap();
                }
            }
        }
        assert!(blocked, "the kernel's buffers hold less than 36 MB");
        while came.len() < queue.len() {
            here.receive(&mut Vec::new()).unwrap();
            there.receive(&mut came).unwrap();
        }
        assert!(came.iter().zip(&queue).all(|(came, sent)| came.datagram.bytes == sent.bytes));
    }

    proptest! {
        #[test]
        fn frames_that_are_cut_anywhere_come_whole(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..50), 1..20),
            cuts in prop::collection::vec(1..40_usize, 1..40),
        ) {
            let (mut here, mut there) = ends("127.0.0.1:0");
            let all: Vec<u8> = frames.iter().flat_map(|bytes| frame(bytes)).collect();
            let (mut rest, mut cuts) = (&all[..], cuts.into_iter().cycle());
            let mut taken = Vec::new();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(cuts.next().unwrap_or(1).min(rest.len()));
                there.write_all(now).unwrap();
                here.wait(false, PATIENCE).unwrap();
                here.receive(&mut taken).unwrap();
                rest = later;
            }
            while taken.len() < frames.len() {
                here.wait(false, PATIENCE).unwrap();
                here.receive(&mut taken).unwrap();
            }
            let came: Vec<Vec<u8>> = taken.into_iter().map(|one| one.datagram.bytes).collect();
            prop_assert_eq!(came, frames);
        }
    }

    /// Sends each datagram back, and says how long it was.
    #[derive(Default)]
    struct Echo {
        back: VecDeque<Outgoing>,
        seen: VecDeque<usize>,
    }

    impl Machine for Echo {
        type Input = Incoming;
        type Output = Outgoing;
        type Event = usize;

        fn handle(&mut self, _: Instant, datagram: Incoming) {
            self.seen.push_back(datagram.bytes.len());
            self.back.push_back(Outgoing::new(datagram.from, datagram.bytes));
        }

        fn wake(&mut self, _: Instant) {}

        fn poll(&mut self, _: Instant) -> Option<Outgoing> {
            self.back.pop_front()
        }

        fn deadline(&self) -> Option<Instant> {
            None
        }

        fn event(&mut self) -> Option<usize> {
            self.seen.pop_front()
        }
    }

    impl Datagrams for Echo {
        fn arrived(datagram: Incoming) -> Incoming {
            datagram
        }

        fn departs(output: Outgoing) -> Outgoing {
            output
        }
    }

    #[test]
    fn a_driver_runs_a_machine_over_a_connection() {
        let (mut here, there) = ends("[::1]:0");
        let serving = thread::spawn(move || {
            let mut driver = Driver::new(Stream::over(there).unwrap(), Clock::start());
            let (mut echo, mut seen) = (Echo::default(), Vec::new());
            let until = driver.now() + PATIENCE;
            while driver.take_trouble().is_none() && driver.now() < until {
                driver.turn(&mut echo, until, &mut seen).unwrap();
            }
            (seen, driver.counts())
        });
        let to = here.peer();
        let queue: Vec<Outgoing> = (1..=100).map(|n| Outgoing::new(to, vec![3; n])).collect();
        let mut left = &queue[..];
        while !left.is_empty() {
            left = &left[here.send(left).unwrap()..];
        }
        let (came, _) = received(&mut here, 100);
        assert!(came.iter().zip(1..).all(|(bytes, n)| bytes.len() == n), "{came:?}");
        drop(here);
        let (seen, counts) = serving.join().unwrap();
        assert_eq!(seen, (1..=100).collect::<Vec<_>>());
        assert_eq!((counts.received, counts.sent, counts.sent_bytes), (100, 100, 5050));
    }
}
