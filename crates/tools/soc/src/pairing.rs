//! Pairing of an access point and a station, in Ethernet frames.

use crate::Error;
use crate::wait::wait_for;
use fairwave_linux::Clock;
use fairwave_linux::EtherSocket;
use fairwave_machine::Machine;
use fairwave_soc::KEY_LEN;
use fairwave_soc::pairing::{
    Code, Ended, Joiner, JoinerEvent, Registrar, RegistrarEvent, RegistrarInput,
};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::{self, Mac};
use fairwave_wire::seal::Key;
use fairwave_wire::soc::pair::Message;
use fairwave_wire::soc::{self};
use std::fs::File;
use std::io::{self, Read, Stdin};
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum wait, so that the loop notices a request to stop.
const LOOK: Duration = Duration::from_millis(500);
/// Bytes of a frame that are read.
const FRAME: usize = 128;

/// Random bytes.
///
/// # Errors
/// If the system has none.
pub fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(Error::at("random bytes"))?;
    Ok(bytes)
}

/// Pairing frames at one interface.
struct Frames<'a> {
    interface: &'a str,
    socket: EtherSocket,
}

impl<'a> Frames<'a> {
    fn open(interface: &'a str) -> Result<Self, Error> {
        Ok(Self { interface, socket: EtherSocket::open(interface, soc::ETHER_TYPE.number())? })
    }

    const fn own(&self) -> Mac {
        Mac(self.socket.address())
    }

    fn send(&self, to: Mac, message: Message) -> Result<(), Error> {
        let frame = soc::frame(self.own(), to, &message.bytes());
        // A message that is lost is sent again.
        let sent = self.socket.send(&frame);
        sent.map(|_| ()).map_err(|error| self.broken(error))
    }

    /// The messages that wait, with the senders of their frames.
    fn take(&mut self) -> Result<Vec<(Mac, Message)>, Error> {
        let (mut frame, mut all) = ([0; FRAME], Vec::new());
        loop {
            let received = self.socket.receive(&mut frame).map_err(|error| self.broken(error))?;
            let Some(length) = received else { return Ok(all) };
            let parsed = ethernet::parse(&frame[..length.min(FRAME)]).ok();
            all.extend(parsed.and_then(|(header, payload)| {
                Some((header.source, Message::parse(payload).ok()?))
            }));
        }
    }

    /// Waits for a message, for the deadline, or until `beside` can be read.
    fn wait(
        &self,
        clock: Clock,
        deadline: Option<Instant>,
        beside: Option<&Stdin>,
    ) -> Result<(), Error> {
        let max = deadline.map_or(LOOK, |due| due.since(clock.now()).min(LOOK));
        let waited = match beside {
            Some(beside) => wait_for(&[&self.socket, beside], max),
            None => wait_for(&[&self.socket], max),
        };
        waited.map(|_| ()).map_err(|error| self.broken(error))
    }

    fn broken(&self, error: io::Error) -> Error {
        Error::at(format!("interface `{}`", self.interface))(error)
    }

    /// The error for a pairing that ended without a key.
    fn ended(&self, why: Ended, window: Duration, missing: &str) -> Error {
        let why = match why {
            Ended::TooLate => format!("{missing} within {window}"),
            Ended::Refused => "the codes were not confirmed, and no key was given".to_owned(),
        };
        self.broken(io::Error::other(why))
    }

    fn interrupted(&self) -> Error {
        self.broken(io::Error::new(io::ErrorKind::Interrupted, "pairing was interrupted"))
    }
}

/// The person at the access point, who confirms that both ends show the same code.
pub trait Confirm {
    /// Shows the code to the person. `Some` is an answer that needs no wait.
    fn ask(&self, station: Mac, code: Code) -> Option<bool>;
    /// Returns the person's answer. Called once standard input can be read.
    fn answer(&self) -> bool;
}

/// Gives the first station that asks its key, if the person confirms that both ends show the same
/// code.
///
/// # Errors
/// If no station asks within the window, the codes differ, or frames cannot be sent (CAP_NET_RAW).
pub fn offer(
    interface: &str,
    network: Key,
    window: Duration,
    stop: &AtomicBool,
    person: &impl Confirm,
) -> Result<Mac, Error> {
    let (clock, frames) = (Clock::start(), Frames::open(interface)?);
    let registrar = Registrar::new(network, random()?, random()?, clock.now() + window);
    let mut offer = Offer { clock, frames, registrar, window, person, is_requested: false };
    let stdin = io::stdin();
    while !stop.load(Ordering::Relaxed) {
        offer.take_frames()?;
        while let Some(event) = offer.registrar.event() {
            if let Some(station) = offer.on_event(event)? {
                return Ok(station);
            }
        }
        offer.send()?;
        // The station's frames are answered while the person compares, as an earlier answer may be
        // lost.
        if !offer.take_answer(&stdin)? {
            let beside = offer.is_requested.then_some(&stdin);
            offer.frames.wait(clock, offer.registrar.deadline(), beside)?;
        }
    }
    Err(offer.frames.interrupted())
}

/// A key that is offered.
struct Offer<'a, C> {
    clock: Clock,
    frames: Frames<'a>,
    registrar: Registrar,
    window: Duration,
    person: &'a C,
    /// Whether the person's answer is awaited.
    is_requested: bool,
}

impl<C: Confirm> Offer<'_, C> {
    /// Takes the messages that wait. Answers are sent before the person is asked: the station needs
    /// the nonce to show its code.
    fn take_frames(&mut self) -> Result<(), Error> {
        let now = self.clock.now();
        for (from, message) in self.frames.take()? {
            self.registrar.handle(now, RegistrarInput::Message(from, message));
        }
        self.registrar.wake(now);
        self.send()
    }

    /// Handles an event. Returns the station that has got its key.
    fn on_event(&mut self, event: RegistrarEvent) -> Result<Option<Mac>, Error> {
        match event {
            RegistrarEvent::Code { station, code } => {
                match self.person.ask(station, code) {
                    None => self.is_requested = true,
                    Some(is_same) => self.compared(is_same),
                }
                Ok(None)
            }
            RegistrarEvent::Granted(station) => Ok(Some(station)),
            RegistrarEvent::Ended(why) => {
                self.send()?;
                let missing = match self.is_requested {
                    true => "the codes were neither confirmed nor refused",
                    false => "no station requested a key",
                };
                Err(self.frames.ended(why, self.window, missing))
            }
        }
    }

    /// Takes the person's answer, if one is awaited and there. Returns whether it was.
    fn take_answer(&mut self, stdin: &Stdin) -> Result<bool, Error> {
        let is_there = || wait_for(&[stdin], Duration::ZERO).is_ok_and(|is| is);
        if !self.is_requested || !is_there() {
            return Ok(false);
        }
        self.is_requested = false;
        self.compared(self.person.answer());
        self.send()?;
        Ok(true)
    }

    fn compared(&mut self, is_same: bool) {
        self.registrar.handle(self.clock.now(), RegistrarInput::Compared(is_same));
    }

    fn send(&mut self) -> Result<(), Error> {
        while let Some(message) = self.registrar.poll(self.clock.now()) {
            self.frames.send(message.station, message)?;
        }
        Ok(())
    }
}

/// Asks for this station's key. `show` gets the code that the access point has to show, too.
///
/// # Errors
/// If no access point gives one within the window, or frames cannot be sent (CAP_NET_RAW).
pub fn join(
    interface: &str,
    window: Duration,
    stop: &AtomicBool,
    mut show: impl FnMut(Mac, Code),
) -> Result<[u8; KEY_LEN], Error> {
    let (clock, mut frames) = (Clock::start(), Frames::open(interface)?);
    let now = clock.now();
    let mut joiner = Joiner::new(frames.own(), random()?, random()?, now, now + window);
    let mut key = None;
    while !joiner.is_over() && !stop.load(Ordering::Relaxed) {
        let now = clock.now();
        for messages in frames.take()? {
            joiner.handle(now, messages);
        }
        joiner.wake(now);
        while let Some(message) = joiner.poll(now) {
            frames.send(joiner.addressee(), message)?;
        }
        while let Some(event) = joiner.event() {
            match event {
                JoinerEvent::Code { access_point, code } => show(access_point, code),
                JoinerEvent::Granted(secret) => key = Some(secret),
                JoinerEvent::Ended(why) => {
                    let missing = "no access point gave a key";
                    return Err(frames.ended(why, window, missing));
                }
            }
        }
        frames.wait(clock, joiner.deadline(), None)?;
    }
    key.ok_or_else(|| frames.interrupted())
}
