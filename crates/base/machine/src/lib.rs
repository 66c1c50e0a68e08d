//! The five verbs of a sans-IO state machine.
//!
//! Every protocol, scheduler and radio of Fairwave is a [`Machine`]: it takes the time and facts as
//! inputs, and returns its outputs, the time of its next wake-up and its observations. It never
//! knows a socket, a clock, a simulator or a file, so the same code runs in virtual time, in the
//! emulator and on a live system.
//!
//! # The drain rule
//!
//! After every [`Machine::handle`] or [`Machine::wake`], the host calls [`Machine::poll`] until
//! it returns `None`, takes [`Machine::event`]s until `None`, and only then reads
//! [`Machine::deadline`]. [`contract`] holds the test that every machine of the workspace passes.
//!
//! [`Replay`] is the memory of message numbers that machines with seals share. [`Named`] is an
//! algorithm from outside.
//!
//! # Example
//! A machine that answers each datagram once, and a host that drives it:
//!
//! ```
//! use fairwave_machine::Machine;
//! use fairwave_units::Instant;
//! use std::collections::VecDeque;
//!
//! #[derive(Default)]
//! struct Echo(VecDeque<String>);
//!
//! impl Machine for Echo {
//!     type Input = String;
//!     type Output = String;
//!     type Event = ();
//!
//!     fn handle(&mut self, _: Instant, input: String) {
//!         self.0.push_back(input);
//!     }
//!     fn wake(&mut self, _: Instant) {}
//!     fn poll(&mut self, _: Instant) -> Option<String> {
//!         self.0.pop_front()
//!     }
//!     fn deadline(&self) -> Option<Instant> {
//!         None
//!     }
//!     fn event(&mut self) -> Option<()> {
//!         None
//!     }
//! }
//!
//! let (mut echo, now) = (Echo::default(), Instant::ZERO);
//! echo.handle(now, "hello".to_owned());
//! assert_eq!(echo.poll(now).as_deref(), Some("hello"));
//! assert_eq!((echo.poll(now), echo.event(), echo.deadline()), (None, None, None), "drained");
//! ```

pub mod contract;
pub mod datagram;
pub mod line;
mod named;
mod replay;

pub use named::Named;
pub use replay::Replay;

use fairwave_units::Instant;

/// A sans-IO state machine. `now` never decreases from one call to the next.
pub trait Machine {
    /// A fact: a packet that arrived, a request of the application.
    type Input;
    /// Something to transmit or hand on.
    type Output;
    /// An observation for the application or the trace.
    type Event;

    /// Takes one fact. Afterwards drain the machine: [`Machine::poll`], then [`Machine::event`],
    /// each until `None`; then read [`Machine::deadline`].
    fn handle(&mut self, now: Instant, input: Self::Input);

    /// Handles the deadline, if it is due. Early or repeated calls do nothing.
    fn wake(&mut self, now: Instant);

    /// The next thing to transmit; `None` means drained.
    fn poll(&mut self, now: Instant) -> Option<Self::Output>;

    /// Returns the time of the next [`Machine::wake`] if nothing happens before; never in the past
    /// once drained.
    fn deadline(&self) -> Option<Instant>;

    /// The next observation.
    fn event(&mut self) -> Option<Self::Event>;
}
