//! Contents of a PPDU, and of its BlockAck (802.11-2020 clauses 9.7, 10.11, 10.12, 10.25).
//!
//! The block ack agreement is taken to exist; its window is the limit of MPDUs. A receiver hands
//! MPDUs up in order and keeps those after a missing one, until that arrives or is dropped by its
//! sender, as a BlockAckReq would report it.

use super::air::Transmission;
use super::bitmap;
use super::mac::{Batch, Contender, DELIMITER_BYTES, Frame, in_ampdu, take_number};
use super::outputs::Run;
use super::room::{Filling, Room};
use super::{Channel, Fate, RadioId};
use crate::phy::{Format, QOS_MAC_BYTES, subframe};
use crate::{Aggregation, Phy};
use fairwave_units::Duration;

impl<P> Contender<P> {
    /// Chooses the contents of the next PPDU, at least the first frame, within `longest` if that is
    /// set.
    pub(super) fn form(
        &mut self,
        phy: Phy,
        longest: Option<Duration>,
        limits: Option<Aggregation>,
    ) {
        let limits = limits.filter(|_| self.batch.to.is_some() && !self.batch.choice.is_sample);
        let room = Room::new(phy, self.batch.mode, longest, limits);
        debug_assert!(!self.batch.settled.has(0), "a settled frame is first");
        let Batch { frames, settled, ends, .. } = &mut self.batch;
        if !frames.as_slices().1.is_empty() {
            frames.make_contiguous();
        }
        let (frames, _) = frames.as_slices();
        ends.clear();
        // MPDUs from the front of the window on, given to the receiver or not.
        let (mut span, mut total, mut index) = (0, 0u32, 0);
        while index < frames.len() {
            let (end, bytes) = mpdu_at(frames, index, room);
            if !settled.has(index) {
                let with = total.next_multiple_of(4) + DELIMITER_BYTES + bytes;
                // The first goes whatever its length: an MPDU over the limits would block for ever.
                let is_first = ends.is_empty();
                // The window begins at the oldest open MPDU, so settled ones behind it count.
                if !is_first && (span >= room.mpdus || with > room.bytes) {
                    break;
                }
                ends.push((end, with));
                total = with;
            }
            (span, index) = (span + 1, end);
        }
        debug_assert!(ends.len() <= room.mpdus as usize, "beyond the window");
        // Only VHT and HE put a single MPDU behind a delimiter.
        let is_bare = ends.len() == 1 && room.format < Format::Vht;
        self.batch.psdu_bytes = if is_bare { total - DELIMITER_BYTES } else { total };
        self.batch.sending = index;
    }

    /// Sequence number of the first MPDU that its sender is not done with.
    pub(super) fn window_start(&self) -> u16 {
        let first = self.batch.frames.get(self.batch.first_open(0));
        first.and_then(|frame| frame.sequence).unwrap_or(self.sequence)
    }

    /// Numbers the MPDUs of the PPDU that is about to be sent.
    pub(super) fn number_formed(&mut self) {
        let Self { batch: Batch { frames, settled, ends, .. }, sequence, .. } = self;
        // `form` has put them side by side; those that joined since may lie apart.
        let (frames, _) = frames.as_mut_slices();
        let mut from = 0;
        for &(end, _) in &*ends {
            while settled.has(from) {
                from += 1;
            }
            // Those that were sent before have their number.
            if frames[from].sequence.is_none() {
                let number = take_number(sequence);
                for (i, frame) in frames[from..end].iter_mut().enumerate() {
                    frame.sequence = Some(number);
                    frame.joined = i > 0;
                }
            }
            from = end;
        }
    }
}

/// The MPDU that begins with frame `index`: the frame after it, and its length. Frames that were
/// sent before stay joined as they were.
fn mpdu_at(frames: &[Frame], index: usize, room: Room) -> (usize, u32) {
    let first = &frames[index];
    let was_sent = first.sequence.is_some();
    let (mut end, mut bytes) = (index + 1, subframe(first.bytes));
    while let Some(frame) = frames.get(end) {
        let with = || bytes.next_multiple_of(4) + subframe(frame.bytes);
        // A retransmission keeps its sequence number, so its A-MSDU must not change.
        let joins = match was_sent {
            true => frame.joined,
            false => room.msdu_bytes > 0 && with() <= room.msdu_bytes,
        };
        if !joins {
            break;
        }
        (end, bytes) = (end + 1, with());
    }
    if end == index + 1 { (end, first.bytes) } else { (end, QOS_MAC_BYTES + bytes) }
}

impl<P> Batch<P> {
    /// The batch has one more frame of `bytes`.
    pub(super) fn note_pushed(&mut self, bytes: u32) {
        self.filling = self.filling.with(bytes, self.room);
        self.filled += in_ampdu(bytes);
    }

    /// Counts the MPDUs anew, after frames have left the batch or were sent.
    fn count_mpdus(&mut self) {
        let mut filling = Filling::default();
        for frame in &self.frames {
            filling = match (frame.sequence, frame.joined) {
                (Some(_), true) => filling,
                (Some(_), false) => Filling { mpdus: filling.mpdus + 1, tail: 0, is_closed: true },
                (None, _) => filling.with(frame.bytes, self.room),
            };
        }
        self.filling = filling;
    }

    /// Whether the longest PPDU has room for one more frame, taken to be as long as the last: bytes
    /// where `counts_bytes`, and an MPDU in the window.
    pub(super) fn fits_one_more(&self, counts_bytes: bool) -> bool {
        let last = self.frames.back().map_or(0, |frame| frame.bytes);
        let has_bytes = self.filled + DELIMITER_BYTES + last <= self.room.bytes;
        let has_place = self.filling.mpdus < self.room.mpdus || self.filling.joins(last, self.room);
        has_place && (has_bytes || !counts_bytes)
    }
}

impl<P: Copy> Channel<P> {
    /// `to` decoded the whole PPDU of `contender`.
    pub(super) fn take_all(&mut self, contender: u32, to: u32) {
        let Batch { received, settled, sending, .. } =
            &mut self.contenders[contender as usize].batch;
        received.add(0..*sending, |index| !settled.word(index));
        self.hand_up(contender, to);
    }

    /// Of the A-MPDU of `contender`, its receiver decoded each MPDU with its own chance. Whether
    /// any.
    pub(super) fn take_some(&mut self, contender: u32, tx: &Transmission) -> bool {
        let Batch { ends, received, settled, .. } = &mut self.contenders[contender as usize].batch;
        self.air.shares(tx, ends, &mut self.shares);
        let errors = &mut self.macs[tx.to as usize].errors;
        // The run of MPDUs that have arrived since the last lost one.
        let (mut run, mut any) = (0..0, false);
        for (&(end, _), &success) in ends.iter().zip(&self.shares) {
            let arrives = success >= 1.0 || !errors.chance(1.0 - success);
            if self.reports_frames {
                self.arrivals.push(arrives);
            }
            if arrives {
                (run.end, any) = (end, true);
            } else {
                received.add(run, |index| !settled.word(index));
                run = end..end;
            }
        }
        received.add(run, |index| !settled.word(index));
        if any {
            self.hand_up(contender, tx.to);
        }
        any
    }

    /// Hands up the frames that are in order.
    pub(super) fn hand_up(&mut self, contender: u32, to: u32) {
        let run = Run::Deliver { to: RadioId(to), from: RadioId(self.radio_of(contender)) };
        let batch = &mut self.contenders[contender as usize].batch;
        let Batch { frames, payloads, received, settled, handed_up, .. } = batch;
        // One that was given up holds nothing back.
        let holds_back = |index| !(received.word(index) | settled.word(index));
        let end = bitmap::first(*handed_up..frames.len(), holds_back);
        if end == *handed_up {
            return;
        }
        let places = bitmap::runs(*handed_up..end, |index| received.word(index));
        self.outputs.extend(run, payloads, places);
        *handed_up = end;
    }

    /// The sender is gone: hands up the frames that its receiver has, as those that are missing
    /// between them do not come any more.
    pub(super) fn hand_up_all(&mut self, contender: u32) {
        let from = RadioId(self.radio_of(contender));
        let batch = &self.contenders[contender as usize].batch;
        let Some(to) = batch.to else { return };
        let held = batch.handed_up..batch.frames.len();
        let places = bitmap::runs(held, |index| batch.received.word(index));
        self.outputs.extend(Run::Deliver { to, from }, &batch.payloads, places);
    }

    /// The sender learns which frames arrived. Returns whether all did.
    pub(super) fn note_received(&mut self, contender: u32) -> bool {
        let run = Run::Done { radio: RadioId(self.radio_of(contender)), fate: Fate::Sent };
        let batch = &mut self.contenders[contender as usize].batch;
        let Batch { payloads, received, settled, sending, .. } = batch;
        let arrived = |index| received.word(index) & !settled.word(index);
        self.outputs.extend(run, payloads, bitmap::runs(0..*sending, arrived));
        settled.add(0..*sending, |index| received.word(index));
        batch.first_open(0) >= batch.sending
    }

    /// Counts a failure for every frame on the air that has not arrived, and drops those at their
    /// limit; returns their number. Where a BlockAckReq reports them to the receiver, the host is
    /// notified of them after that.
    pub(super) fn count_failures(&mut self, contender: u32, is_long: bool) -> u64 {
        let radio = self.radio_of(contender);
        let run = Run::Done { radio: RadioId(radio), fate: Fate::RetryLimit };
        let config = &self.config;
        let limit = if is_long { config.long_retry_limit } else { config.short_retry_limit };
        let limit = self.agreement(contender).and_then(|own| own.retry_limit).unwrap_or(limit);
        let tells = self.reports_drops(contender);
        let batch = &mut self.contenders[contender as usize].batch;
        let (mut given_up, mut place) = (0, batch.first_open(0));
        while place < batch.sending {
            let frame = &mut batch.frames[place];
            let count = if is_long { &mut frame.long_failures } else { &mut frame.short_failures };
            *count += 1;
            debug_assert!(*count <= limit.max(1), "{count} attempts of at most {limit}");
            if *count >= limit {
                given_up += 1;
                batch.settled.add(place..place + 1, |_| u64::MAX);
                if tells {
                    batch.lost.add(place..place + 1, |_| u64::MAX);
                } else {
                    self.outputs.push(run, batch.payloads[place]);
                }
            }
            place = batch.first_open(place + 1);
        }
        self.macs[radio as usize].stats.retry_drops += given_up;
        given_up
    }

    /// Forgets settled frames at the front of the window. Frames behind a missing one stay, for the
    /// receiver holds them back; once it is gone they are handed up. Nothing moves before a
    /// BlockAckReq has reported the dropped frames to the receiver.
    pub(super) fn slide(&mut self, contender: u32) {
        let batch = &mut self.contenders[contender as usize].batch;
        (batch.sending, batch.is_rest) = (0, true);
        if batch.asks {
            return;
        }
        if let Some(to) = batch.to {
            self.hand_up(contender, to.0);
        }
        let batch = &mut self.contenders[contender as usize].batch;
        let settled = batch.first_open(0);
        (0..settled).for_each(|place| self.released.push(batch.payloads[place]));
        batch.drop_front(settled);
        batch.count_mpdus();
        debug_assert!(!batch.frames.is_empty() || batch.filled == 0, "{} B", batch.filled);
    }
}

#[cfg(test)]
mod tests;
