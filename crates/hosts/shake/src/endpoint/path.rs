//! One path of a session: its route, its counts, its round-trip time and its MTU.

use super::route::Route;
use fairwave_machine::Replay;
use fairwave_units::{Duration, Instant};
use fairwave_wire::shake::HEAD_LEN;
use fairwave_wire::shake::record::{Counts, Echo, NUMBER_LIMIT, Priority, RECORD_OVERHEAD};
use std::collections::VecDeque;
use std::num::NonZeroU64;

/// MTUs that a path is asked for, in bytes, the largest first; the last is IPv6's minimum
/// (RFC 8200 section 5).
const MTUS: [u16; 3] = [1500, 1400, 1280];
/// Octets of a message of SHAKE's data before its payload: head and sequence number.
pub(super) const MESSAGE_HEAD: usize = HEAD_LEN + 8;
/// Headers of UDP and of each version of IP, in bytes.
const IPV4_HEADERS: usize = 28;
const IPV6_HEADERS: usize = 48;
/// Payload of a segment that every path takes: in a packet of IPv6's minimum MTU.
pub(super) const MIN_MSS: u16 = MTUS[2] - (IPV6_HEADERS + RECORD_OVERHEAD + MESSAGE_HEAD) as u16;
/// Payload of a segment in the largest packet that a path is asked for.
pub(super) const MAX_MSS: u16 = MTUS[0] - (IPV4_HEADERS + RECORD_OVERHEAD + MESSAGE_HEAD) as u16;
/// Times that a path is asked for an MTU, as questions and answers may be lost (RFC 8899 section
/// 5.1.2, MAX_PROBES).
const MAX_PROBES: u8 = 3;
/// Rounds of questions after which a path is asked for its known MTU again. A round is a second
/// while streams are open.
const CHECK_AFTER: u8 = 8;
/// Successive questions for the known MTU that may be lost while others are answered. More show
/// that packets of this size vanish (RFC 8899 section 4.3).
const MAX_MISSED: u8 = 4;
/// Time without an answer after which reports show a path as down; at least twice the smoothed
/// round-trip time.
const SILENT: Duration = Duration::from_secs(3);
/// Number of questions that have to be without an answer then.
const MIN_OPEN: usize = 2;
/// Questions that are remembered.
const MAX_ASKED: usize = 64;
/// Questions for the MTU that are kept among them when the others are thinned out: those of eight
/// seconds, if the path is asked for every MTU.
const MAX_MTUS_ASKED: usize = 8 * MTUS.len();

/// A question that has not been answered.
#[derive(Clone, Copy, Debug)]
struct Asked {
    token: u32,
    at: Instant,
    /// Records sent, this one among them.
    sent: u64,
    /// Bytes of the packet with all its headers, if the question is for the MTU.
    mtu: Option<u16>,
}

/// A path as this end sees it.
#[derive(Debug, Default)]
pub(super) struct Path {
    /// The way to the peer, once it is known.
    pub(super) route: Option<Route>,
    /// Whether the host has the path: for the end that joins paths, whether its interface works.
    pub(super) is_up: bool,
    /// Use that the opener wants made of it.
    pub(super) priority: Priority,
    counts: Counts,
    bytes_sent: u64,
    bytes_received: u64,
    pub(super) seen: Replay,
    /// Time at which resets were last repeated on it.
    pub(super) repeated_at: Option<Instant>,
    /// Acknowledgements that wait to leave together.
    pub(super) bundle: Vec<u8>,
    next: u64,
    asked: VecDeque<Asked>,
    /// Time of the first question not for the MTU since the one that was answered last.
    open_since: Option<Instant>,
    srtt: Option<Duration>,
    min_rtt: Option<Duration>,
    /// The latest round-trip time, and the time at which its question left.
    latest: Option<(Duration, Instant)>,
    /// Largest packet that was answered.
    mtu: Option<u16>,
    /// Times that it was asked for larger ones.
    probes: u8,
    check: Check,
    lost: Lost,
}

/// Questions whether a path still takes packets of its MTU.
#[derive(Clone, Copy, Debug, Default)]
struct Check {
    /// Rounds since the last of them.
    rounds: u8,
    /// Time of the one that is open.
    asked_at: Option<Instant>,
    /// Number of successive ones that were lost.
    missed: u8,
}

/// Records that did not arrive, of those that were sent until a question.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    sent: (u64, u64),
    received: (u64, u64),
}

/// A path's counts, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathStats {
    /// Its id.
    pub path: u8,
    /// Whether the host has it and, at the end that asks, the peer answers on it.
    pub is_up: bool,
    /// Bytes of UDP payload sent on it.
    pub bytes_sent: u64,
    /// Bytes of UDP payload received on it.
    pub bytes_received: u64,
    /// Bytes of streams in flight on it, from this end.
    pub in_flight: u64,
    /// Use that the opener wants made of it.
    pub priority: Priority,
    /// Latest round-trip time.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Minimum round-trip time.
    pub min_rtt: Option<Duration>,
    /// Largest IP packet that it is known to take in both directions, in bytes.
    pub mtu: Option<u16>,
    /// Records that were sent on it, and how many of them did not arrive.
    pub sent: (u64, u64),
    /// Records that the peer sent on it, and how many of them did not arrive.
    pub received: (u64, u64),
}

/// Payload of a segment in a packet of this size, with so many bytes of headers of IP and UDP.
fn payload_behind(headers: usize, mtu: u16) -> u16 {
    mtu - (headers + RECORD_OVERHEAD + MESSAGE_HEAD) as u16
}

/// The largest payload that a path may have and that is not larger than a peer's claim. A claim
/// below all gives the smallest, which every path takes.
pub(super) fn claimed_payload(claim: u16) -> u16 {
    let of = |mtu| [IPV4_HEADERS, IPV6_HEADERS].map(|headers| payload_behind(headers, mtu));
    MTUS.into_iter().flat_map(of).find(|payload| *payload <= claim).unwrap_or(MIN_MSS)
}

impl PathStats {
    /// These counts with those of a session before.
    #[must_use]
    pub fn after(self, before: &Self) -> Self {
        let sum = |(all, lost): (u64, u64), (more, gone): (u64, u64)| (all + more, lost + gone);
        Self {
            bytes_sent: self.bytes_sent + before.bytes_sent,
            bytes_received: self.bytes_received + before.bytes_received,
            sent: sum(self.sent, before.sent),
            received: sum(self.received, before.received),
            srtt: self.srtt.or(before.srtt),
            min_rtt: self.min_rtt.or(before.min_rtt),
            mtu: self.mtu.or(before.mtu),
            ..self
        }
    }

    /// Part of the records, of both directions, that did not arrive; `None` before any is known.
    pub fn loss(&self) -> Option<f64> {
        let (all, lost) = (self.sent.0 + self.received.0, self.sent.1 + self.received.1);
        (all > 0).then(|| lost as f64 / all as f64)
    }
}

impl Path {
    /// A number for the next record.
    pub(super) fn take_number(&mut self) -> NonZeroU64 {
        self.next += 1;
        assert!(self.next < NUMBER_LIMIT, "2^56 records");
        NonZeroU64::new(self.next).expect("counted from one on")
    }

    /// Counts a record of `len` bytes that leaves.
    pub(super) fn note_sent(&mut self, len: usize) {
        self.counts.sent += 1;
        self.bytes_sent += len as u64;
    }

    /// Counts a record of `len` bytes that came.
    pub(super) fn note_received(&mut self, len: usize) {
        self.counts.received += 1;
        self.bytes_received += len as u64;
    }

    /// Bytes of headers of IP and UDP.
    fn headers(&self) -> usize {
        let is_six = self.route.is_some_and(|route| route.remote.is_ipv6());
        if is_six { IPV6_HEADERS } else { IPV4_HEADERS }
    }

    /// Payload of a segment in a packet of the path's MTU, once that is known.
    pub(super) fn mss(&self) -> Option<u16> {
        self.mtu.map(|mtu| self.payload_of(mtu))
    }

    /// Payload of a segment in a packet of this size.
    fn payload_of(&self, mtu: u16) -> u16 {
        payload_behind(self.headers(), mtu)
    }

    /// MTUs beyond the largest that was answered, for which it is to be asked now. After some times
    /// there is none: a path has an MTU of its own.
    pub(super) fn mtus_to_ask(&mut self) -> impl Iterator<Item = u16> + use<> {
        let known = self.mtu;
        let is_due = known.is_none() || self.probes < MAX_PROBES;
        self.probes = self.probes.saturating_add(1);
        MTUS.into_iter().filter(move |mtu| is_due && known.is_none_or(|known| known < *mtu))
    }

    /// The known MTU, if the path is to be asked for it again. It is unknown from now on if too
    /// many such questions were lost: a link or a tunnel on the way takes smaller packets by now.
    pub(super) fn mtu_to_check(&mut self, now: Instant) -> Option<u16> {
        let mtu = self.mtu.filter(|mtu| *mtu > MTUS[2])?;
        if let Some(at) = self.check.asked_at {
            // The question that leaves behind it was answered, or a later one.
            let is_lost = self.latest.is_some_and(|(_, asked_at)| asked_at >= at);
            if !is_lost {
                return None;
            }
            // A question that is remembered no more may still be answered.
            let is_open = self.asked.iter().any(|asked| asked.at >= at && asked.mtu == Some(mtu));
            self.check.missed += u8::from(is_open);
        }
        if self.check.missed > MAX_MISSED {
            (self.mtu, self.probes, self.check) = (None, 0, Check::default());
            return None;
        }
        self.check.rounds += 1;
        let is_due = self.check.missed > 0 || self.check.rounds >= CHECK_AFTER;
        if is_due {
            (self.check.rounds, self.check.asked_at) = (0, Some(now));
        }
        Some(mtu).filter(|_| is_due)
    }

    /// A question, whose packet has `mtu` bytes if that is given.
    pub(super) fn ask(&mut self, now: Instant, token: u32, mss: u16, mtu: Option<u16>) -> Echo {
        /// Frame of a question without padding, behind its kind.
        const ECHO_LEN: usize = 4 + 8 + 8 + 2 + 1;
        let bare = self.headers() + RECORD_OVERHEAD + ECHO_LEN;
        let padding = mtu.map_or(0, |mtu| mtu - bare as u16);
        let sent = self.counts.sent + 1;
        if self.asked.len() == MAX_ASKED {
            self.thin_out();
        }
        self.asked.push_back(Asked { token, at: now, sent, mtu });
        if mtu.is_none() {
            self.open_since.get_or_insert(now);
        }
        Echo {
            token,
            counts: Counts { sent, ..self.counts },
            mss,
            priority: self.priority,
            padding,
        }
    }

    /// Forgets half of the questions that are not for the MTU. Some of all ages are left, as a path
    /// may take longer than the latest ones are old.
    fn thin_out(&mut self) {
        let mut is_kept = false;
        // An MTU is judged by each of its questions: only those of a path that is long silent go.
        let mut mtus = self.asked.iter().filter(|asked| asked.mtu.is_some()).count();
        self.asked.retain(|asked| {
            if asked.mtu.is_some() {
                mtus -= 1;
                return mtus < MAX_MTUS_ASKED;
            }
            is_kept = !is_kept;
            is_kept
        });
    }

    /// The answer to a question, in a packet of the same size: the acceptor asks nothing itself,
    /// and large packets may vanish in its direction alone.
    pub(super) fn reply(&mut self, asked: &Echo, mss: u16) -> Echo {
        self.hear(asked);
        let counts = Counts { sent: self.counts.sent + 1, ..self.counts };
        let padding = asked.padding.min(MTUS[0]);
        Echo { token: asked.token, counts, mss, priority: asked.priority, padding }
    }

    /// Takes an answer; returns whether it answers a question of this end.
    pub(super) fn take_answer(&mut self, now: Instant, answer: &Echo) -> bool {
        let place = self.asked.iter().position(|asked| asked.token == answer.token);
        let Some(asked) = place.and_then(|place| self.asked.remove(place)) else { return false };
        self.hear(answer);
        let rtt = now.since(asked.at);
        if self.latest.is_none_or(|(_, at)| at <= asked.at) {
            self.latest = Some((rtt, asked.at));
            // A question for the MTU may be too large for the path.
            let is_open = |later: &&Asked| later.mtu.is_none() && later.at > asked.at;
            self.open_since = self.asked.iter().find(is_open).map(|later| later.at);
        }
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        // RFC 6298 section 2.
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt * 7 / 8 + rtt / 8));
        if asked.mtu.is_some() && asked.mtu >= self.mtu {
            (self.mtu, self.check) = (asked.mtu, Check::default());
        }
        let arrived = answer.counts.received.min(asked.sent);
        self.lost.sent = (asked.sent, asked.sent - arrived);
        true
    }

    /// Learns the peer's count of sent records.
    fn hear(&mut self, echo: &Echo) {
        let sent = echo.counts.sent;
        if sent > self.lost.received.0 {
            self.lost.received = (sent, sent.saturating_sub(self.counts.received));
        }
    }

    /// Expected time until a datagram sent now arrives: the latest round-trip time, or the time for
    /// which a later question has waited for its answer, without half of the minimum. The queue is
    /// thus taken to be on the way there. A path that has not answered is expected to be slow.
    pub(super) fn expected_delay(&self, now: Instant) -> Duration {
        const UNKNOWN: Duration = Duration::from_millis(100);
        let rtt = self.latest.map_or(UNKNOWN, |(rtt, _)| rtt);
        let open = self.open_since.map_or(Duration::ZERO, |since| now.since(since));
        let back = self.min_rtt.map_or(Duration::ZERO, |min| min / 2);
        rtt.max(open).saturating_sub(back)
    }

    /// Whether all questions since `since` are without an answer, at least one.
    pub(super) fn is_silent(&self, since: Instant) -> bool {
        self.asked.back().is_some_and(|asked| asked.at > since)
    }

    /// Whether the peer has answered, and not just left questions open for too long.
    pub(super) fn answers(&self, now: Instant) -> bool {
        let is_silent = self.open_since.is_some_and(|since| {
            let patience = self.srtt.map_or(SILENT, |srtt| SILENT.max(srtt * 2));
            // After a rest, the question just sent is no sign of silence.
            let open = self.asked.iter().filter(|asked| {
                let waits = now.since(asked.at) > patience / 2;
                asked.mtu.is_none() && asked.at >= since && waits
            });
            now.since(since) > patience && open.count() >= MIN_OPEN
        });
        self.latest.is_some() && !is_silent
    }

    /// Forgets questions and the MTU: the path begins anew.
    pub(super) fn restart(&mut self) {
        self.asked.clear();
        (self.mtu, self.srtt, self.min_rtt, self.latest) = (None, None, None, None);
        self.open_since = None;
        (self.probes, self.check) = (0, Check::default());
    }

    pub(super) fn stats(&self, path: u8) -> PathStats {
        PathStats {
            path,
            is_up: self.is_up && self.route.is_some(),
            bytes_sent: self.bytes_sent,
            bytes_received: self.bytes_received,
            in_flight: 0,
            priority: self.priority,
            rtt: self.latest.map(|(rtt, _)| rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            mtu: self.mtu,
            sent: self.lost.sent,
            received: self.lost.received,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An idle session rests after a lost question: the next one takes its time to be answered.
    #[test]
    fn a_path_is_silent_only_if_a_second_question_waits_too() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut path = Path::default();
        let question = path.ask(at(0), 1, 0, None);
        assert!(path.take_answer(at(10), &question));
        path.ask(at(1_000), 2, 0, None);
        path.ask(at(16_000), 3, 0, None);
        assert!(path.answers(at(16_010)));
        assert!(!path.answers(at(18_000)));
    }

    /// A question of 1500 bytes is lost and one of 1400 answered: streams with larger segments
    /// would never use the path.
    #[test]
    fn a_path_is_asked_again_for_the_mtus_beyond_the_answered_one_and_not_for_ever() {
        let mut path = Path::default();
        let asked = |path: &mut Path| path.mtus_to_ask().collect::<Vec<_>>();
        assert_eq!(asked(&mut path), MTUS);
        let question = path.ask(Instant::ZERO, 7, 0, Some(1400));
        assert!(path.take_answer(Instant::ZERO, &question));
        assert_eq!(asked(&mut path), [1500]);
        assert_eq!(asked(&mut path), [1500]);
        assert!(asked(&mut path).is_empty(), "its MTU is 1400");
        path.restart();
        assert_eq!(asked(&mut path), MTUS);
    }

    /// Datagrams ask a path each 20 ms. A dead one is as slow as its first open question is old,
    /// and the answers of one that takes 2 s are still known when they come.
    #[test]
    fn a_path_is_as_slow_as_its_first_open_question_is_old() {
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        let mut path = Path::default();
        let answered = path.ask(at(0), 0, 0, None);
        path.take_answer(at(10), &answered);
        for number in 1..=100 {
            path.ask(at(u64::from(number) * 20), number, 0, None);
        }
        assert_eq!(path.expected_delay(at(2_020)), Duration::from_millis(2_000 - 5));
        let mut slow = Path::default();
        let mut questions = Vec::new();
        for number in 0..400 {
            questions.push(slow.ask(at(number * 20), number as u32, 0, None));
            if let Some(answered) = number.checked_sub(100) {
                slow.take_answer(at(number * 20), &questions[answered as usize]);
            }
        }
        let expected = slow.expected_delay(at(8_000)) + Duration::from_millis(1_000);
        assert!((2_000..2_200).contains(&expected.as_millis()), "{expected}");
    }

    /// Datagrams ask a path each 20 ms, of which the answers take 2 s. Nothing is lost.
    #[test]
    fn the_questions_of_datagrams_leave_a_slow_path_its_mtu() {
        const RTT: u64 = 2_000;
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        for offset in [0, 1, 7, 19, 20, 333, 990] {
            let mut path = Path::default();
            let first = path.ask(at(0), 0, 0, Some(1500));
            assert!(path.take_answer(at(0), &first));
            let (mut open, mut token) = (VecDeque::new(), 0);
            for ms in 1..600_000 {
                while let Some((_, question)) = open.pop_front_if(|(due, _)| *due == ms) {
                    path.take_answer(at(ms), &question);
                }
                let is_checked = ms % 1_000 == offset;
                let check = if is_checked { path.mtu_to_check(at(ms)) } else { None };
                let plain = usize::from(is_checked) + usize::from(ms % 20 == 0);
                let plain = std::iter::repeat_n(None, plain);
                for mtu in check.map(Some).into_iter().chain(plain) {
                    token += 1;
                    open.push_back((ms + RTT, path.ask(at(ms), token, 0, mtu)));
                }
                assert_eq!(path.mtu, Some(1500), "at {ms} ms, {offset}");
            }
        }
    }
}
