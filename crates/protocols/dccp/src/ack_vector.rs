//! Arrivals here, as reported: Ack Vector and Data Dropped (RFC 4340 sections 11.4, 11.7).

use fairwave_wire::dccp::{Arrival, DropCode, Dropped, Options, Seq48, Value};
use fairwave_wire::ipv4::Ecn;
use std::collections::VecDeque;

/// Packets whose arrival is remembered. Older ones count as seen.
const HISTORY: u64 = 4096;
/// Packets of the acknowledgement window; older ones are reported no more.
const WINDOW: usize = 2048;
/// Bytes of a vector: together with all other options of an acknowledgement, they fit a header.
const VECTOR: usize = 240;
/// Acknowledgements whose acknowledgement is recognised: those of a round trip.
const SENT: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Entry {
    state: Arrival,
    /// Whether it carried the ECN nonce, ECT(1).
    nonce: bool,
    dropped: Dropped,
}

const MISSING: Entry = Entry { state: Arrival::Missing, nonce: false, dropped: Dropped::Normal };

/// Arrived packets.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// The greatest number so far.
    greatest: Option<Seq48>,
    /// A bit for each of the last numbers, at its place modulo [`HISTORY`].
    seen: Vec<u64>,
    /// Reported packets, from the greatest number downwards.
    window: VecDeque<Entry>,
    /// Numbers of acknowledgements and the greatest number each reported.
    sent: VecDeque<(Seq48, Seq48)>,
    /// Entries of the window that are not delivered as usual.
    drops: usize,
}

impl Arrivals {
    pub(crate) fn new() -> Self {
        Self {
            greatest: None,
            seen: vec![0; HISTORY as usize / 64],
            window: VecDeque::with_capacity(WINDOW + 1),
            sent: VecDeque::with_capacity(SENT + 1),
            drops: 0,
        }
    }

    /// Takes a packet; false if it came before.
    pub(crate) fn take(&mut self, seq: Seq48, ecn: Ecn) -> bool {
        let Some(greatest) = self.greatest else {
            self.greatest = Some(seq);
            self.set_seen(seq, true);
            self.window.push_front(entry(ecn));
            return true;
        };
        if seq.after(greatest) {
            self.advance(seq.distance(greatest), seq);
            self.set_seen(seq, true);
            self.window[0] = entry(ecn);
            return true;
        }
        let back = greatest.distance(seq);
        if back >= HISTORY || self.is_seen(seq) {
            return false;
        }
        self.set_seen(seq, true);
        if let Some(place) = self.window.get_mut(back as usize) {
            *place = entry(ecn);
        }
        true
    }

    /// Makes room for `by` newer numbers, none of which has arrived.
    fn advance(&mut self, by: u64, seq: Seq48) {
        for back in 0..by.min(HISTORY) {
            self.set_seen(seq - back, false);
        }
        for _ in 0..by.min(WINDOW as u64) {
            if self.window.len() == WINDOW {
                self.forget_oldest();
            }
            self.window.push_front(MISSING);
        }
        self.greatest = Some(seq);
    }

    fn forget_oldest(&mut self) {
        if let Some(entry) = self.window.pop_back() {
            self.drops -= usize::from(entry.dropped != Dropped::Normal);
        }
    }

    fn is_seen(&self, seq: Seq48) -> bool {
        let bit = seq.value() % HISTORY;
        self.seen[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    fn set_seen(&mut self, seq: Seq48, seen: bool) {
        let bit = seq.value() % HISTORY;
        let word = &mut self.seen[(bit / 64) as usize];
        *word = *word & !(1 << (bit % 64)) | u64::from(seen) << (bit % 64);
    }

    /// The data of a packet that arrived were not delivered as usual.
    pub(crate) fn note_dropped(&mut self, seq: Seq48, code: DropCode) {
        let Some(greatest) = self.greatest else { return };
        if let Some(entry) = self.window.get_mut(greatest.distance(seq) as usize) {
            self.drops += usize::from(entry.dropped == Dropped::Normal);
            entry.dropped = Dropped::Dropped(code);
        }
    }

    /// Packet `seq` of this end, an acknowledgement, arrived: its report is known.
    pub(crate) fn on_acknowledged(&mut self, seq: Seq48) {
        let at = self.sent.partition_point(|(sent, _)| sent.before(seq));
        let Some(&(_, reported)) = self.sent.get(at).filter(|(sent, _)| *sent == seq) else {
            return;
        };
        self.sent.drain(..=at);
        let Some(greatest) = self.greatest else { return };
        // The greatest number stays: a vector has one packet at least.
        let keep = greatest.distance(reported).max(1);
        while self.window.len() as u64 > keep {
            self.forget_oldest();
        }
    }

    /// Adds the report to packet `seq`, which acknowledges the greatest number.
    pub(crate) fn write(&mut self, seq: Seq48, with_vector: bool, options: &mut Options) {
        let Some(greatest) = self.greatest else { return };
        if with_vector {
            self.write_vector(options);
        }
        if self.drops > 0 {
            self.write_drops(options);
        }
        if with_vector || self.drops > 0 {
            if self.sent.len() == SENT {
                self.sent.pop_front();
            }
            self.sent.push_back((seq, greatest));
        }
    }

    fn write_vector(&self, options: &mut Options) {
        let mut vector = [0; VECTOR];
        let states = self.window.iter().map(|entry| entry.state);
        let (bytes, packets) = encode(states, Arrival::RUN_MAX, Arrival::byte, &mut vector);
        let reported = self.window.iter().take(packets);
        let nonces = reported.filter(|entry| entry.state == Arrival::Received && entry.nonce);
        let nonce_echo = nonces.count() % 2 == 1;
        // A vector of 240 bytes fits behind what else an acknowledgement carries.
        let _ = options.push(Value::AckVector { nonce_echo, vector: &vector[..bytes] });
    }

    fn write_drops(&self, options: &mut Options) {
        let mut vector = [0; VECTOR];
        let last = self.window.iter().rposition(|entry| entry.dropped != Dropped::Normal);
        let states = self.window.iter().map(|entry| entry.dropped).take(last.map_or(0, |n| n + 1));
        // Blocks of drops are the shorter ones; all are cut to 16 packets.
        let (bytes, _) = encode(states, 16, Dropped::byte, &mut vector);
        let _ = options.push(Value::DataDropped(&vector[..bytes]));
    }
}

fn entry(ecn: Ecn) -> Entry {
    let state = if ecn == Ecn::Ce { Arrival::Marked } else { Arrival::Received };
    Entry { state, nonce: ecn == Ecn::Ect1, dropped: Dropped::Normal }
}

/// Runs of equal states, as many as fit; bytes written and packets covered.
fn encode<S: Copy + PartialEq>(
    states: impl Iterator<Item = S>,
    longest: u64,
    byte: fn(S, u64) -> u8,
    out: &mut [u8],
) -> (usize, usize) {
    let mut runs = Encoder { out, byte, bytes: 0, packets: 0 };
    let mut run: Option<(S, u64)> = None;
    for state in states {
        match run {
            Some((same, count)) if same == state && count < longest => {
                run = Some((same, count + 1));
            }
            _ => {
                if run.is_some_and(|(state, count)| !runs.put(state, count)) {
                    return (runs.bytes, runs.packets);
                }
                run = Some((state, 1));
            }
        }
    }
    if let Some((state, count)) = run {
        runs.put(state, count);
    }
    (runs.bytes, runs.packets)
}

/// Writes runs as bytes.
struct Encoder<'a, S> {
    out: &'a mut [u8],
    byte: fn(S, u64) -> u8,
    bytes: usize,
    packets: usize,
}

impl<S> Encoder<'_, S> {
    /// False, and nothing is written, where there is no room.
    fn put(&mut self, state: S, count: u64) -> bool {
        let Some(place) = self.out.get_mut(self.bytes) else { return false };
        *place = (self.byte)(state, count);
        self.bytes += 1;
        self.packets += count as usize;
        true
    }
}

#[cfg(test)]
mod tests;
