//! The two ends.

use super::shared::{Code, Ephemeral, Shared, Transcript, commitment, promise};
use crate::{KEY_LEN, station_secret};
use core::fmt;
use fairwave_machine::Machine;
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::pair::{Body, Message, NONCE_LEN, PUBLIC_LEN};
use std::collections::VecDeque;

/// From one try to the next of a message that is not answered.
const AGAIN: Duration = Duration::from_millis(500);

/// Time for which a station answers that it has its key: the access point may have missed it.
const LINGER: Duration = Duration::from_secs(2);

/// The station's end. Its outputs are messages; the first goes to everybody.
pub struct Joiner {
    station: Mac,
    own: Ephemeral,
    nonce: [u8; NONCE_LEN],
    state: Joining,
    /// Time at which the last message is sent again, and when all ends.
    again: Instant,
    until: Instant,
    out: VecDeque<Message>,
    events: VecDeque<JoinerEvent>,
}

enum Joining {
    /// No answer yet.
    Calling,
    /// This access point has answered, and has still to open its commitment.
    Offered {
        access_point: Mac,
        public: [u8; PUBLIC_LEN],
        promise: [u8; PUBLIC_LEN],
    },
    /// People compare codes.
    Met(Mac, Shared),
    /// The key is here.
    Granted(Mac, Shared),
    Over,
}

/// Results for a station.
#[derive(Clone, PartialEq, Eq)]
pub enum JoinerEvent {
    /// An access point answered; its people have to see this code.
    Code {
        /// The access point.
        access_point: Mac,
        /// The code that both show.
        code: Code,
    },
    /// The station's key. It shows nothing of itself.
    Granted([u8; KEY_LEN]),
    /// There is no key.
    Ended(Ended),
}

/// Reason for which a pairing came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its time is over.
    TooLate,
    /// A person refused the code.
    Refused,
}

impl fmt::Debug for JoinerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code { access_point, code } => {
                f.debug_struct("Code").field("from", access_point).field("code", code).finish()
            }
            Self::Granted(_) => f.write_str("Granted(..)"),
            Self::Ended(why) => f.debug_tuple("Ended").field(why).finish(),
        }
    }
}

impl Joiner {
    /// A station that wants its key by `until`. Secret and nonce are random, and for this alone.
    pub fn new(
        station: Mac,
        secret: [u8; PUBLIC_LEN],
        nonce: [u8; NONCE_LEN],
        now: Instant,
        until: Instant,
    ) -> Self {
        let own = Ephemeral::new(secret);
        let (out, events) = (VecDeque::new(), VecDeque::new());
        let state = Joining::Calling;
        Self { station, own, nonce, state, again: now, until, out, events }
    }

    /// Whether there is nothing more to do.
    pub const fn is_over(&self) -> bool {
        matches!(self.state, Joining::Over)
    }

    /// Receiver of messages.
    pub const fn addressee(&self) -> Mac {
        match &self.state {
            Joining::Offered { access_point, .. }
            | Joining::Met(access_point, _)
            | Joining::Granted(access_point, _) => *access_point,
            Joining::Calling | Joining::Over => Mac::BROADCAST,
        }
    }

    fn message(&self) -> Option<Body> {
        let public = self.own.public;
        match &self.state {
            Joining::Calling => Some(Body::Hello { commitment: commitment(&public, &self.nonce) }),
            Joining::Offered { .. } | Joining::Met(..) => {
                Some(Body::Reveal { public, nonce: self.nonce })
            }
            Joining::Granted(..) | Joining::Over => None,
        }
    }

    fn send(&mut self, body: Body) {
        self.out.push_back(Message { station: self.station, body });
    }

    /// Shows the own key to an access point that has committed itself.
    fn answer(&mut self, now: Instant, access_point: Mac, offer: [[u8; PUBLIC_LEN]; 2]) {
        let [public, promise] = offer;
        if !self.own.agrees_with(&public) {
            return;
        }
        self.state = Joining::Offered { access_point, public, promise };
        self.again = now;
        self.wake(now);
    }

    /// Has the code, as the access point's nonce is known.
    fn meet(&mut self, access_point: Mac, public: [u8; PUBLIC_LEN], nonce: [u8; NONCE_LEN]) {
        let transcript = Transcript {
            station: self.station,
            of_station: self.own.public,
            nonce: self.nonce,
            of_access_point: public,
            nonce_of_access_point: nonce,
        };
        let Some(shared) = Shared::of(&self.own, &public, &transcript) else { return };
        self.events.push_back(JoinerEvent::Code { access_point, code: shared.code() });
        self.state = Joining::Met(access_point, shared);
    }

    fn end(&mut self, why: Ended) {
        self.state = Joining::Over;
        self.events.push_back(JoinerEvent::Ended(why));
    }
}

impl Machine for Joiner {
    /// A message, and the sender of its frame.
    type Input = (Mac, Message);
    type Output = Message;
    type Event = JoinerEvent;

    fn handle(&mut self, now: Instant, input: Self::Input) {
        let (from, message) = input;
        if message.station != self.station || now >= self.until {
            return;
        }
        match (&self.state, message.body) {
            (Joining::Calling, Body::Offer { public, commitment }) => {
                self.answer(now, from, [public, commitment]);
            }
            (Joining::Offered { access_point, public, promise: said }, Body::Opened { nonce })
                if *access_point == from && *said == promise(&nonce) =>
            {
                let public = *public;
                self.meet(from, public, nonce);
            }
            (Joining::Met(access_point, shared), Body::Grant { sealed })
                if *access_point == from =>
            {
                let Some(secret) = shared.open(&sealed) else { return };
                let proof = shared.done();
                self.send(Body::Done { proof });
                let state = std::mem::replace(&mut self.state, Joining::Over);
                if let Joining::Met(access_point, shared) = state {
                    self.state = Joining::Granted(access_point, shared);
                }
                self.until = now + LINGER;
                self.events.push_back(JoinerEvent::Granted(secret));
            }
            (Joining::Granted(access_point, shared), Body::Grant { .. })
                if *access_point == from =>
            {
                let proof = shared.done();
                self.send(Body::Done { proof });
            }
            (Joining::Met(access_point, shared), Body::Refused { proof })
                if *access_point == from && shared.is_proof(false, proof) =>
            {
                self.end(Ended::Refused);
            }
            _ => {}
        }
    }

    fn wake(&mut self, now: Instant) {
        if now >= self.until {
            match self.state {
                Joining::Over => {}
                Joining::Granted(..) => self.state = Joining::Over,
                Joining::Calling | Joining::Offered { .. } | Joining::Met(..) => {
                    self.end(Ended::TooLate);
                }
            }
            return;
        }
        if now >= self.again
            && let Some(body) = self.message()
        {
            self.again = now + AGAIN;
            self.send(body);
        }
    }

    fn poll(&mut self, _: Instant) -> Option<Message> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        match self.state {
            Joining::Over => None,
            Joining::Granted(..) => Some(self.until),
            Joining::Calling | Joining::Offered { .. } | Joining::Met(..) => {
                Some(self.again.min(self.until))
            }
        }
    }

    fn event(&mut self) -> Option<JoinerEvent> {
        self.events.pop_front()
    }
}

/// The access point's end: it pairs with one station. Its outputs are messages to that station.
pub struct Registrar {
    network: Key,
    own: Ephemeral,
    /// Commitment of the offer. It is shown to one station alone, after that has shown its key: an
    /// earlier attacker learns nothing by which to choose its own.
    nonce: [u8; NONCE_LEN],
    state: Registering,
    again: Instant,
    until: Instant,
    out: VecDeque<Message>,
    events: VecDeque<RegistrarEvent>,
}

enum Registering {
    Waiting,
    /// A station has committed itself. Until it shows its key, another may come instead.
    Offered {
        station: Mac,
        commitment: [u8; PUBLIC_LEN],
    },
    /// People compare codes.
    Comparing {
        station: Mac,
        shared: Shared,
    },
    /// The key is under way.
    Granting {
        station: Mac,
        shared: Shared,
    },
    Over,
}

/// A fact for a [`Registrar`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrarInput {
    /// A message, and the sender of its frame.
    Message(Mac, Message),
    /// Whether the codes are the same, or the first to come is trusted.
    Compared(bool),
}

/// Results for an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrarEvent {
    /// A station wants its key; it has to show this code.
    Code {
        /// The station.
        station: Mac,
        /// The code that both show.
        code: Code,
    },
    /// The station has its key.
    Granted(Mac),
    /// There is no pairing.
    Ended(Ended),
}

impl Registrar {
    /// An access point with the network's key that pairs with a station until then. Secret and
    /// nonce are random, and for this alone.
    pub fn new(
        network: Key,
        secret: [u8; PUBLIC_LEN],
        nonce: [u8; NONCE_LEN],
        until: Instant,
    ) -> Self {
        let (out, events) = (VecDeque::new(), VecDeque::new());
        let (own, state) = (Ephemeral::new(secret), Registering::Waiting);
        Self { network, own, nonce, state, again: until, until, out, events }
    }

    /// Whether there is nothing more to do.
    pub const fn is_over(&self) -> bool {
        matches!(self.state, Registering::Over)
    }

    fn send(&mut self, station: Mac, body: Body) {
        self.out.push_back(Message { station, body });
    }

    fn end(&mut self, why: Ended) {
        self.state = Registering::Over;
        self.events.push_back(RegistrarEvent::Ended(why));
    }

    fn receive(&mut self, now: Instant, message: Message) {
        let station = message.station;
        match (&self.state, message.body) {
            (Registering::Waiting | Registering::Offered { .. }, Body::Hello { commitment }) => {
                self.state = Registering::Offered { station, commitment };
                let (public, commitment) = (self.own.public, promise(&self.nonce));
                self.send(station, Body::Offer { public, commitment });
            }
            (
                Registering::Offered { station: met, commitment: chosen },
                Body::Reveal { public, nonce },
            ) if *met == station && *chosen == commitment(&public, &nonce) => {
                self.compare(station, public, nonce);
            }
            (Registering::Granting { station: met, shared }, Body::Done { proof })
                if *met == station && shared.is_proof(true, proof) =>
            {
                self.state = Registering::Over;
                self.events.push_back(RegistrarEvent::Granted(station));
            }
            // What was said to it was lost.
            (Registering::Comparing { station: met, .. }, Body::Reveal { .. })
                if *met == station =>
            {
                self.open(station);
            }
            (Registering::Granting { station: met, .. }, Body::Reveal { .. })
                if *met == station =>
            {
                self.open(station);
                self.again = now;
                self.grant(now);
            }
            _ => {}
        }
    }

    fn compare(&mut self, station: Mac, public: [u8; PUBLIC_LEN], nonce: [u8; NONCE_LEN]) {
        let transcript = Transcript {
            station,
            of_station: public,
            nonce,
            of_access_point: self.own.public,
            nonce_of_access_point: self.nonce,
        };
        let Some(shared) = Shared::of(&self.own, &public, &transcript) else { return };
        self.open(station);
        self.events.push_back(RegistrarEvent::Code { station, code: shared.code() });
        self.state = Registering::Comparing { station, shared };
    }

    fn open(&mut self, station: Mac) {
        let nonce = self.nonce;
        self.send(station, Body::Opened { nonce });
    }

    fn compared(&mut self, now: Instant, is_same: bool) {
        let state = std::mem::replace(&mut self.state, Registering::Over);
        match state {
            Registering::Comparing { station, shared } if is_same => {
                self.state = Registering::Granting { station, shared };
                self.again = now;
                self.grant(now);
            }
            Registering::Comparing { station, shared } => {
                let proof = shared.refused();
                self.send(station, Body::Refused { proof });
                self.end(Ended::Refused);
            }
            state => self.state = state,
        }
    }

    fn grant(&mut self, now: Instant) {
        let Registering::Granting { station, shared } = &self.state else { return };
        let (station, sealed) = (*station, shared.seal(&station_secret(&self.network, *station)));
        self.again = now + AGAIN;
        self.send(station, Body::Grant { sealed });
    }
}

impl Machine for Registrar {
    type Input = RegistrarInput;
    type Output = Message;
    type Event = RegistrarEvent;

    fn handle(&mut self, now: Instant, input: RegistrarInput) {
        if now >= self.until {
            return;
        }
        match input {
            RegistrarInput::Message(from, message) if message.station == from => {
                self.receive(now, message);
            }
            RegistrarInput::Message(..) => {}
            RegistrarInput::Compared(is_same) => self.compared(now, is_same),
        }
    }

    fn wake(&mut self, now: Instant) {
        if self.is_over() {
            return;
        }
        if now >= self.until {
            return self.end(Ended::TooLate);
        }
        if now >= self.again {
            self.grant(now);
        }
    }

    fn poll(&mut self, _: Instant) -> Option<Message> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        match self.state {
            Registering::Over => None,
            Registering::Granting { .. } => Some(self.again.min(self.until)),
            _ => Some(self.until),
        }
    }

    fn event(&mut self) -> Option<RegistrarEvent> {
        self.events.pop_front()
    }
}
