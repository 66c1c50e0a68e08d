//! The access point that listens to a station's reports, and the pace of reports without one.

use fairwave_units::{Duration, Instant};

/// Silence of the access point after which it counts as not listening any more. It answers each
/// second, in a crowd every other one.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest time between two unanswered reports.
const LONGEST: Duration = Duration::from_secs(10);

/// A station's contact with its access point, by addresses of some kind.
#[derive(Clone, Copy, Debug)]
pub struct Contact<A> {
    /// Receiver of reports that are for all.
    everybody: A,
    /// The access point that the station is associated with, where its radio reports it.
    associated: Option<A>,
    /// Whether the next unanswered report goes to that one alone.
    is_direct: bool,
    /// The access point, and when it last answered.
    answered: Option<(A, Instant)>,
    /// Time at which the next report may go, and the time after it, while no access point answers.
    next: Instant,
    gap: Duration,
    /// The gap to begin with.
    interval: Duration,
}

impl<A: Copy> Contact<A> {
    /// No contact yet; reports are made in this interval.
    pub const fn new(now: Instant, interval: Duration, everybody: A) -> Self {
        Self {
            everybody,
            associated: None,
            is_direct: true,
            answered: None,
            next: now,
            gap: interval,
            interval,
        }
    }

    /// The station has associated with another access point than before: whoever answered until
    /// now cannot be reached any more, and reports go to the new one at once.
    pub const fn associate(&mut self, now: Instant, with: A) {
        self.associated = Some(with);
        self.is_direct = true;
        self.answered = None;
        self.gap = self.interval;
        self.next = now;
    }

    /// An access point answered.
    pub const fn answer(&mut self, now: Instant, from: A) {
        self.answered = Some((from, now));
        self.gap = self.interval;
        self.next = now;
        self.is_direct = true;
    }

    /// Returns the access point that listens; `None` without one.
    pub fn access_point(&self, now: Instant) -> Option<A> {
        let (mac, at) = self.answered?;
        (now < at + PATIENCE).then_some(mac)
    }

    /// Returns the receiver of a report now: the access point that listens. Without one, reports go
    /// in turn to the one of the association and to all, with growing gaps: the listener may be a
    /// router behind the access point. `None` if the report is not sent.
    pub fn addressee(&mut self, now: Instant) -> Option<A> {
        if let Some(mac) = self.access_point(now) {
            return Some(mac);
        }
        if now < self.next {
            return None;
        }
        self.next = now + self.gap;
        self.gap = (self.gap * 2).min(LONGEST);
        let direct = self.associated.filter(|_| self.is_direct);
        self.is_direct = !self.is_direct;
        Some(direct.unwrap_or(self.everybody))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_wire::ethernet::Mac;

    fn ms(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Times and receivers of reports that are made each 200 ms.
    fn sent(contact: &mut Contact<Mac>, range: std::ops::Range<u64>) -> Vec<(u64, Mac)> {
        let all = range.step_by(200);
        all.filter_map(|at| contact.addressee(ms(at)).map(|to| (at, to))).collect()
    }

    #[test]
    fn gaps_double_up_to_ten_seconds() {
        let mut contact = Contact::new(ms(0), Duration::from_millis(200), Mac::BROADCAST);
        let all = sent(&mut contact, 0..60_000);
        let times: Vec<u64> = all.iter().map(|(at, _)| *at).collect();
        let expected = [0, 200, 600, 1_400, 3_000, 6_200, 12_600, 22_600, 32_600, 42_600, 52_600];
        assert_eq!(times, expected);
        assert!(all.iter().all(|(_, to)| *to == Mac::BROADCAST));
    }

    #[test]
    fn after_a_roam_reports_go_to_the_new_access_point_and_in_turn_to_everybody() {
        let mut contact = Contact::new(ms(0), Duration::from_millis(200), Mac::BROADCAST);
        contact.associate(ms(0), Mac::local(8));
        contact.answer(ms(0), Mac::local(8));
        assert_eq!(
            sent(&mut contact, 0..1_000),
            [0, 200, 400, 600, 800].map(|at| (at, Mac::local(8)))
        );
        contact.associate(ms(1_000), Mac::local(9));
        assert_eq!(contact.access_point(ms(1_000)), None);
        let (direct, all) = (Mac::local(9), Mac::BROADCAST);
        let expected = [(1_000, direct), (1_200, all), (1_600, direct), (2_400, all)];
        assert_eq!(sent(&mut contact, 1_000..4_000), expected);
    }

    #[test]
    fn an_answer_ends_the_search_until_it_is_old() {
        let mut contact = Contact::new(ms(0), Duration::from_millis(200), Mac::BROADCAST);
        sent(&mut contact, 0..30_000);
        contact.answer(ms(30_000), Mac::local(9));
        let all = sent(&mut contact, 30_000..36_000);
        let at_rest = all.iter().filter(|(_, to)| *to == Mac::local(9)).count();
        // Each 200 ms for five seconds, then 35.0, 35.2 and 35.6 s to everybody.
        assert_eq!((at_rest, all.len()), (25, 28));
    }
}
