//! Both ends of a pairing, and an attacker between them who drops, repeats, changes and forges
//! messages. No key is given unless both ends show the same code, and then it is the station's key.

#![no_main]

use fairwave_machine::Machine;
use fairwave_soc::pairing::{Code, Joiner, JoinerEvent, Registrar, RegistrarEvent, RegistrarInput};
use fairwave_soc::{KEY_LEN, station_secret};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::pair::Message;
use libfuzzer_sys::fuzz_target;

const STATION: Mac = Mac::local(7);
const ACCESS_POINT: Mac = Mac::local(1);
const LASTS: Duration = Duration::from_secs(20);
/// Bytes of a step: the action, the message, the time, the position of a changed byte, and the
/// change.
const STEP: usize = 5;

struct Between {
    station: Joiner,
    access_point: Registrar,
    /// All messages so far, and whether the station sent them.
    said: Vec<(bool, Message)>,
    /// The code that the station shows.
    shown: Option<Code>,
    is_confirmed: bool,
}

fn network() -> Key {
    Key::new(&[9; KEY_LEN]).expect("it is long enough")
}

impl Between {
    fn new() -> Self {
        let until = Instant::ZERO + LASTS;
        Self {
            station: Joiner::new(STATION, [3; 32], [4; 32], Instant::ZERO, until),
            access_point: Registrar::new(network(), [5; 32], [6; 32], until),
            said: Vec::new(),
            shown: None,
            is_confirmed: false,
        }
    }

    fn deliver(&mut self, now: Instant, by_station: bool, message: Message) {
        match by_station {
            true => {
                let from = message.station;
                self.access_point.handle(now, RegistrarInput::Message(from, message));
            }
            false => self.station.handle(now, (ACCESS_POINT, message)),
        }
        self.drain(now);
    }

    fn drain(&mut self, now: Instant) {
        while let Some(message) = self.station.poll(now) {
            self.said.push((true, message));
        }
        while let Some(event) = self.station.event() {
            match event {
                JoinerEvent::Code { code, .. } => self.shown = Some(code),
                JoinerEvent::Granted(secret) => {
                    assert!(self.is_confirmed, "the code is not confirmed");
                    assert_eq!(secret, station_secret(&network(), STATION));
                }
                JoinerEvent::Ended(_) => {}
            }
        }
        while let Some(message) = self.access_point.poll(now) {
            self.said.push((false, message));
        }
        while let Some(event) = self.access_point.event() {
            match event {
                RegistrarEvent::Code { code, .. } => {
                    let is_same = self.shown == Some(code);
                    self.is_confirmed |= is_same;
                    self.access_point.handle(now, RegistrarInput::Compared(is_same));
                    self.drain(now);
                }
                RegistrarEvent::Granted(station) => {
                    assert!(self.is_confirmed && station == STATION);
                }
                RegistrarEvent::Ended(_) => {}
            }
        }
    }

    fn wake(&mut self, now: Instant) {
        self.station.wake(now);
        self.access_point.wake(now);
        self.drain(now);
        let later = |deadline: Option<Instant>| deadline.is_none_or(|deadline| deadline > now);
        assert!(later(self.station.deadline()) && later(self.access_point.deadline()));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut between = Between::new();
    let mut now = Instant::ZERO;
    between.wake(now);
    for step in bytes.chunks_exact(STEP).take(60) {
        let [kind, which, wait, at, by] = *step else { unreachable!() };
        now += Duration::from_millis(u64::from(wait) * 4);
        between.wake(now);
        let back = usize::from(which) % between.said.len().max(1);
        let Some(&(by_station, message)) = between.said.iter().rev().nth(back) else { continue };
        let mut changed = message.bytes();
        let at = usize::from(at) % changed.len();
        changed[at] ^= by;
        match kind % 4 {
            0 | 1 => between.deliver(now, by_station, message),
            // Reflected to its sender.
            2 => between.deliver(now, !by_station, message),
            _ => {
                if let Ok(message) = Message::parse(&changed) {
                    between.deliver(now, by_station, message);
                }
            }
        }
        assert!(between.said.len() < 1000, "the messages grow without end");
    }
});
