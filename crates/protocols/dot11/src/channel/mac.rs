//! State of a radio and its contenders for their frames.

use super::bitmap::{self, Bitmap};
use super::pairs::Pairs;
use super::rates::Rates;
use super::room::{Filling, Room};
use super::{AirtimeLimits, Config, Mpdu, RadioConfig, RadioId};
pub(super) use crate::phy::{DELIMITER_BYTES, in_ampdu};
use crate::rate_control::Choice;
use crate::{Capabilities, Edca, Mode, Phy};
use core::ops::Range;
use fairwave_trace::StationSample;
use fairwave_units::{Duration, Instant, Seed, Stream};
use std::collections::VecDeque;

/// State of a radio's present exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing to send, or counting its backoff down.
    Waiting,
    /// Sending a data frame, an RTS, a CTS to itself or a beacon, or about to follow by SIFS.
    Sending,
    /// Waiting for the CTS.
    AwaitingCts,
    /// Waiting for the ACK or BlockAck.
    AwaitingAck,
}

/// Radios that the levels of a radio are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peers {
    /// None yet.
    None,
    /// This one.
    One(u32),
    /// Several, whose levels must not be mixed.
    Several,
    /// The latest, of a station, which has one access point at a time.
    Latest,
}

impl Peers {
    /// A frame was exchanged with `peer`.
    fn with(self, peer: u32) -> Self {
        match self {
            Self::None => Self::One(peer),
            Self::One(other) if other != peer => Self::Several,
            peers => peers,
        }
    }
}

/// The MAC state of one radio.
#[derive(Debug)]
pub(super) struct Mac {
    pub(super) phase: Phase,
    /// The contender whose exchange is under way.
    pub(super) turn: u32,
    /// Whether it is to leave the channel, and begins no further exchange.
    pub(super) is_leaving: bool,
    pub(super) beacon_due: bool,
    pub(super) stats: StationSample,
    /// The same by receiver, with the modes of data.
    pub(super) pairs: Pairs,
    /// Level over the noise of the width in use of the last frame received, and of the last one
    /// sent, at its receiver; zero before the first.
    pub(super) snr: f64,
    pub(super) peer_snr: f64,
    /// The other radio of those frames; once an access point has had several, their levels are
    /// those of none.
    pub(super) peer: Peers,
    pub(super) errors: Stream,
    /// Number of the timeout in force, so that a stale one is recognised. Each attempt and each
    /// CTS adds one.
    pub(super) attempt: u64,
    /// Whether the RTS or data frame of this attempt met another transmission.
    pub(super) collided: bool,
    /// End of the TXOP under way, and of its last exchange.
    pub(super) txop_end: Instant,
    pub(super) exchange_end: Instant,
    /// Time at which the last A-MPDU for this radio ended of which it decoded something.
    pub(super) ampdu_end: Option<Instant>,
    /// Airtime that it takes over from its host; `None`: as many frames as fill a PPDU.
    pub(super) airtime_limits: Option<AirtimeLimits>,
    /// Peers and airtime used with them that the host has not taken yet; `None`: it takes none.
    pub(super) used: Option<VecDeque<(u32, Duration)>>,
    /// Chooses modes of data frames; `None` takes the modes that the host sets.
    pub(super) rates: Option<Rates>,
    pub(super) capabilities: Capabilities,
}

impl Mac {
    pub(super) fn new(seed: Seed, channel: &str, radio: &RadioConfig, config: &Config) -> Self {
        let name = format!("{channel}/{}", radio.name);
        let (rates, capabilities) = (radio.rates.clone(), radio.capabilities);
        Self {
            phase: Phase::Waiting,
            turn: 0,
            is_leaving: false,
            beacon_due: false,
            stats: StationSample::default(),
            pairs: Pairs::default(),
            snr: 0.0,
            peer_snr: 0.0,
            peer: if radio.is_access_point { Peers::None } else { Peers::Latest },
            errors: seed.stream(&format!("errors/{name}")),
            attempt: 0,
            collided: false,
            txop_end: Instant::ZERO,
            exchange_end: Instant::ZERO,
            ampdu_end: None,
            airtime_limits: None,
            used: None,
            capabilities,
            rates: rates.map(|choice| Rates::new(choice, capabilities, config, seed, name)),
        }
    }

    /// Whether `contender` has just ended an exchange and may go on within its TXOP.
    pub(super) fn has_txop(&self, contender: u32, now: Instant) -> bool {
        let is_over = self.phase == Phase::Waiting && self.exchange_end == now;
        is_over && self.turn == contender && now < self.txop_end
    }

    /// Notes the level over noise of a frame to or from `peer`.
    pub(super) fn note_peer(&mut self, peer: u32) {
        self.peer = self.peer.with(peer);
    }

    /// Whether no attempt has ended twice, and a collision is also a failure.
    pub(super) fn ends_fit_attempts(&self) -> bool {
        let StationSample { attempts, successes, failures, collisions, .. } = self.stats;
        successes + failures <= attempts && collisions <= failures
    }

    /// Whether a CTS, ACK or BlockAck is expected.
    pub(super) fn awaits_response(&self) -> bool {
        matches!(self.phase, Phase::AwaitingCts | Phase::AwaitingAck)
    }
}

/// Frames that a contender is about to send or sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Serving {
    Nothing,
    Beacon,
    Batch,
}

/// Returns a sequence number, and moves `next` to the one after it: they have 12 bits.
pub(super) const fn take_number(next: &mut u16) -> u16 {
    let number = *next;
    *next = (number + 1) % 4096;
    number
}

/// A frame of the host: an MPDU, or a part of one that is an A-MSDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) bytes: u32,
    /// Set when it is first sent.
    pub(super) sequence: Option<u16>,
    /// Whether it shares an MPDU with the frame before.
    pub(super) joined: bool,
    /// Failed attempts without RTS, and failed RTS (short retry count).
    pub(super) short_failures: u32,
    /// Failed attempts at the data after a CTS (long retry count).
    pub(super) long_failures: u32,
}

/// Frames for one receiver that are sent together where aggregation is on, and otherwise one
/// frame. Those at the front are the oldest.
#[derive(Debug)]
pub(super) struct Batch<P> {
    pub(super) to: Option<RadioId>,
    pub(super) mode: Mode,
    /// The choice of that mode, if a rate control made it. Kept here, as other categories choose
    /// for the same receiver while this batch waits.
    pub(super) choice: Choice,
    /// Whether the mode of the next PPDU is chosen already, as the RTS for it was not answered.
    pub(super) is_mode_chosen: bool,
    pub(super) frames: VecDeque<Frame>,
    /// The payload of each frame.
    pub(super) payloads: VecDeque<P>,
    /// Frames that the receiver has decoded: its scoreboard.
    pub(super) received: Bitmap,
    /// Number of frames from the front that were handed up there, in order, or were dropped.
    pub(super) handed_up: usize,
    /// Frames that their sender is done with: acknowledged, or given up.
    pub(super) settled: Bitmap,
    /// Dropped frames of which the host has not been notified yet.
    pub(super) lost: Bitmap,
    /// Number of frames from the front that were on the air, and that were so before the PPDU that
    /// was sent last.
    sent: usize,
    pub(super) sent_before: usize,
    /// Number of frames from the front that the present PPDU covers, settled ones included.
    pub(super) sending: usize,
    /// For each MPDU of that PPDU: the frame after it, and where it ends in bytes.
    pub(super) ends: Vec<(usize, u32)>,
    /// The PSDU's length in bytes.
    pub(super) psdu_bytes: u32,
    /// Bytes of all frames in an A-MPDU, each an MPDU with delimiter and padding.
    pub(super) filled: u32,
    /// MPDUs that the frames make up.
    pub(super) filling: Filling,
    /// Limits of the longest PPDU.
    pub(super) room: Room,
    /// Whether the last PPDU had no place for these.
    pub(super) is_rest: bool,
    /// Failed attempts at data since the last that was answered, or since frames were given up.
    pub(super) failures: u32,
    /// Whether a BlockAckReq goes before the next PPDU of these frames.
    pub(super) asks: bool,
    /// Failed attempts at that BlockAckReq.
    pub(super) request_failures: u32,
}

impl<P> Batch<P> {
    /// Places of the frames of the PPDU under way that are not settled yet.
    pub(super) fn on_air(&self) -> impl Iterator<Item = Range<usize>> {
        bitmap::runs(0..self.sending, |index| !self.settled.word(index))
    }

    /// Puts the present PPDU on the air. Returns the number of its MPDUs that were there before.
    pub(super) fn note_transmission(&mut self) -> u64 {
        self.sent_before = self.sent;
        self.sent = self.sent.max(self.sending);
        // The payloads of an A-MSDU are sent together, so its end stands for all of them.
        self.ends.partition_point(|(end, _)| *end <= self.sent_before) as u64
    }

    /// The place of the first frame from `from` on that is not settled; that after the last if all
    /// are.
    pub(super) fn first_open(&self, from: usize) -> usize {
        bitmap::first(from..self.frames.len(), |index| !self.settled.word(index))
    }

    /// Removes the first `count` frames.
    pub(super) fn drop_front(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        // Mostly all go, always where nothing is aggregated.
        if count == self.frames.len() {
            self.frames.clear();
            self.payloads.clear();
            for bitmap in [&mut self.received, &mut self.settled, &mut self.lost] {
                bitmap.clear();
            }
            (self.handed_up, self.sent, self.sent_before, self.filled) = (0, 0, 0, 0);
            return;
        }
        let gone = self.frames.drain(..count);
        self.filled -= gone.map(|frame| in_ampdu(frame.bytes)).sum::<u32>();
        self.payloads.drain(..count);
        for bitmap in [&mut self.received, &mut self.settled, &mut self.lost] {
            bitmap.drop_front(count);
        }
        for number in [&mut self.handed_up, &mut self.sent, &mut self.sent_before] {
            *number = number.saturating_sub(count);
        }
    }

    /// Returns whether no frame taken together with it was sent yet.
    pub(super) fn is_fresh(&self) -> bool {
        !self.is_rest && self.frames.front().is_none_or(|frame| frame.sequence.is_none())
    }
}

/// One that contends for a radio's access: the whole radio under DCF, an access category under
/// EDCA (clause 10.23.2).
#[derive(Debug)]
pub(super) struct Contender<P> {
    pub(super) serving: Serving,
    pub(super) cw: u32,
    pub(super) batch: Batch<P>,
    /// The sequence number of the next new MPDU or beacon.
    pub(super) sequence: u16,
    backoff: Stream,
}

impl<P> Contender<P> {
    /// `stream` names its backoff.
    pub(super) fn new(seed: Seed, stream: &str, phy: Phy, edca: Edca) -> Self {
        let mode = phy.lowest_mode();
        let batch = Batch {
            to: None,
            mode,
            choice: Choice::usual(0),
            is_mode_chosen: false,
            frames: VecDeque::new(),
            payloads: VecDeque::new(),
            received: Bitmap::default(),
            handed_up: 0,
            settled: Bitmap::default(),
            lost: Bitmap::default(),
            sent: 0,
            sent_before: 0,
            sending: 0,
            ends: Vec::new(),
            psdu_bytes: 0,
            filled: 0,
            filling: Filling::default(),
            room: Room::new(phy, mode, None, None),
            is_rest: false,
            failures: 0,
            asks: false,
            request_failures: 0,
        };
        Self {
            serving: Serving::Nothing,
            cw: edca.cw_min,
            batch,
            sequence: 0,
            backoff: seed.stream(stream),
        }
    }

    /// Slots of a new backoff.
    pub(super) fn draw(&mut self) -> u32 {
        self.backoff.below(u64::from(self.cw) + 1) as u32
    }

    /// Drops the present frames. Adds their payloads to `released`, and those of frames that their
    /// receiver lacks also to `left`, except those whose drop the host has been notified of.
    pub(super) fn leave(&mut self, cw_min: u32, left: &mut Vec<P>, released: &mut Vec<P>)
    where
        P: Copy,
    {
        self.serving = Serving::Nothing;
        self.cw = cw_min;
        let batch = &mut self.batch;
        released.extend(&batch.payloads);
        for (place, payload) in batch.payloads.iter().enumerate() {
            let is_dropped = batch.settled.has(place) && !batch.lost.has(place);
            if !batch.received.has(place) && !is_dropped {
                left.push(*payload);
            }
        }
        batch.drop_front(batch.frames.len());
        batch.sending = 0;
        batch.asks = false;
        batch.request_failures = 0;
        batch.failures = 0;
        batch.is_mode_chosen = false;
    }

    /// The sequence number of the next new MPDU or beacon.
    pub(super) fn number(&mut self) -> u16 {
        take_number(&mut self.sequence)
    }

    /// Takes a frame over; the first of a batch sets its receiver and mode. `room` gives the
    /// limits of a PPDU in a mode.
    pub(super) fn push(&mut self, mpdu: Mpdu<P>, room: impl FnOnce(Mode) -> Room) {
        let batch = &mut self.batch;
        if batch.frames.is_empty() {
            batch.to = mpdu.to;
            batch.mode = mpdu.mode;
            batch.room = room(mpdu.mode);
            batch.filled = 0;
            batch.filling = Filling::default();
            batch.is_rest = false;
        }
        batch.note_pushed(mpdu.bytes);
        batch.payloads.push_back(mpdu.payload);
        batch.frames.push_back(Frame {
            bytes: mpdu.bytes,
            sequence: None,
            joined: false,
            short_failures: 0,
            long_failures: 0,
        });
    }
}
