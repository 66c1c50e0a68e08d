//! Stations that do not know this access point's session yet, or not any more.
//!
//! A greeting moves nothing: it brings the station an answer with the session. Repeating one that
//! was recorded brings an answer that its station ignores, as the number in it is an old one.

use super::AccessPoint;
use super::facts::{Action, Decision};
use crate::table::{ReceivedFrame, Refusal};
use fairwave_units::Instant;
use fairwave_wire::soc::{Greeting, GreetingError, KeyRefused};

impl AccessPoint {
    /// Answers a greeting that came in a frame.
    pub(super) fn take_greeting(&mut self, now: Instant, frame: &ReceivedFrame) {
        if let Err(why) = self.greet(now, frame) {
            let station = frame.from();
            if let Some(notice) = notice(why, frame.payload()) {
                let payload = notice.bytes();
                self.actions.push_back(Action::Answer { station, payload });
            }
            self.counters.strangers_refused[why as usize] += 1;
            self.events.push_back(Decision::Refused { from: frame.from(), why });
        }
    }

    fn greet(&mut self, now: Instant, frame: &ReceivedFrame) -> Result<(), Refusal> {
        let greeting = self.understand(now, frame.payload())?;
        if greeting.station != frame.from() {
            return Err(Refusal::WrongSender);
        }
        self.counters.challenges += 1;
        self.say(greeting.station, greeting.sequence);
        Ok(())
    }

    /// Reads a greeting, and finds that it is from a station of this network. The pace of unknown
    /// stations holds for all greetings, as each costs the derivation of a key.
    pub(super) fn understand(&mut self, now: Instant, bytes: &[u8]) -> Result<Greeting, Refusal> {
        let claimed = Greeting::unchecked(bytes).map_err(refusal)?;
        self.admit_stranger(now)?;
        Greeting::open(bytes, &self.key_of(claimed.station)?).map_err(refusal)
    }
}

/// Returns the notice to a station that does not have its key of this network; `None` for other
/// refusals, of which the network's own stations recover.
pub(super) fn notice(why: Refusal, greeting: &[u8]) -> Option<KeyRefused> {
    let Greeting { station, sequence } = Greeting::unchecked(greeting).ok()?;
    (why == Refusal::Forged).then_some(KeyRefused { station, sequence })
}

/// Returns the reason for a parser's error.
const fn refusal(error: GreetingError) -> Refusal {
    match error {
        GreetingError::Truncated(_) => Refusal::Truncated,
        GreetingError::Beginning { .. } => Refusal::UnknownVersion,
        GreetingError::Group { .. } => Refusal::Malformed,
        GreetingError::Forged(_) => Refusal::Forged,
    }
}
