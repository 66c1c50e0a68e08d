//! Flows of a world on sockets of the kernel, with its TCP and UDP instead of the simulator's.
//!
//! A [`Spec`] describes a flow of a world on sockets. [`Prepared`] has the sockets of several
//! flows, opened in the network namespaces of their nodes ([`Within`]), so that errors of the
//! kernel are known before the run. [`Prepared::start`] passes them to one thread, which serves all
//! of them by epoll; it shares no state with the world's loop except in the kernel. Results are
//! [`fairwave_sim::FlowOutcome`]s, as in the simulator, and samples during the run are sent over a
//! channel.
//!
//! Sender and receiver share a clock, so that one-way delays are exact. A datagram carries the time
//! at which it was passed to the kernel, and counts as arrived when the kernel received it, not
//! when the thread read it.

mod carrier;
mod connection;
mod datagrams;
mod dccp;
mod error;
mod place;
mod probe;
mod progress;
mod reactor;
mod shake;
mod shared;
mod socket;
mod spec;
mod stamp;
mod target;

pub use carrier::KernelFlow;
pub use error::{Error, Failure};
pub use place::Place;
pub use reactor::{Report, Timing};
pub use shared::{Shared, Way};
pub use socket::{CallerNamespace, Within, available_congestion_controls};
pub use spec::{
    Connection, Datagrams, Dccp, Load, Probe, ShakeBy, Spec, Through, Unsupported, Writes,
    simulated_congestion_control,
};

use carrier::Carrier;
use connection::ConnectionFlow;
use core::fmt;
use datagrams::DatagramFlow;
use dccp::DccpConnection;
use fairwave_linux::clock::Clock;
use fairwave_trace::Sample;
use fairwave_units::Instant;
use probe::ProbeSession;
use reactor::Reactor;
use rustix::fd::OwnedFd;
use shake::SharedFlow;
use socket::Sockets;
use std::io;
use std::panic;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::{self, JoinHandle};

/// Flows whose sockets are open, and which have not started.
pub struct Prepared {
    flows: Vec<Box<dyn Carrier>>,
}

impl Prepared {
    /// Opens the sockets of flows.
    ///
    /// # Errors
    /// [`Error`], with the flow and the refused step.
    pub fn open(specs: Vec<Spec>, namespaces: &impl Within) -> Result<Self, Error> {
        let open = |spec: Spec| -> Result<Box<dyn Carrier>, Error> {
            let sockets = |spec: &Spec| Sockets::open(spec, namespaces);
            Ok(match &spec.load {
                Load::Connection(_) => Box::new(ConnectionFlow::new(sockets(&spec)?, spec)),
                Load::Datagrams(_) => Box::new(DatagramFlow::new(sockets(&spec)?, spec)),
                Load::Probe(_) => Box::new(ProbeSession::new(sockets(&spec)?, spec)),
                Load::Dccp(dccp) => {
                    let dccp = dccp.clone();
                    Box::new(DccpConnection::open(spec, *dccp, namespaces)?)
                }
                Load::Shared(shared) => {
                    let shared = shared.clone();
                    Box::new(SharedFlow::open(spec, *shared, namespaces)?)
                }
            })
        };
        Ok(Self { flows: specs.into_iter().map(open).collect::<Result<_, _>>()? })
    }

    /// Starts the thread that serves the flows, by `clock`. Samples are sent to `samples`, with the
    /// times at which they were due, as in the simulator. If the channel is full they are counted
    /// and dropped, as the flows must not wait for a slow recorder.
    ///
    /// # Errors
    /// [`Error::Thread`].
    pub fn start(
        self,
        clock: Clock,
        timing: Timing,
        samples: SyncSender<(Instant, Sample)>,
    ) -> Result<Running, Error> {
        let (reactor, stop) = Reactor::new(self.flows, timing, clock, samples)?;
        let thread = thread::Builder::new().name("traffic".to_owned());
        let thread = thread.spawn(move || reactor.run())?;
        Ok(Running { stop, thread: Some(thread) })
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("flows", &self.flows.len()).finish()
    }
}

/// Running flows. Dropping this stops them.
#[derive(Debug)]
pub struct Running {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<io::Result<Report>>>,
}

impl Running {
    /// Waits for the end of the flows.
    ///
    /// # Errors
    /// [`Error::Thread`] if the thread failed.
    pub fn finish(mut self) -> Result<Report, Error> {
        self.join()
    }

    /// Ends the flows now.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn stop(mut self) -> Result<Report, Error> {
        self.request_stop();
        self.join()
    }

    /// Whether the flows have ended.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn request_stop(&self) {
        // This can only fail if the 64-bit counter overflows.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
    }

    fn join(&mut self) -> Result<Report, Error> {
        let thread = self.thread.take().expect("it is taken when `self` is consumed or dropped");
        Ok(thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload))?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.request_stop();
            // Nobody waits for the report; a panic has already been printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
