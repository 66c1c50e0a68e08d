//! The thread that reads windows from the kernel and writes their table.

use super::connections::Connections;
use super::wanted::{NoWindows, Tracing, Windows};
use fairwave_bpf::{Event, Tracer};
use fairwave_lab::results::{TableWriter, WINDOWS, WindowRow};
use fairwave_linux::clock::Clock;
use fairwave_units::Duration;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};

/// Maximum wait between reads of the ring buffer while few events arrive. It has space for some
/// 80,000 events.
const PATIENCE: Duration = Duration::from_millis(100);

/// The thread that writes windows. If it is dropped without [`Tracing::end`], the thread ends by
/// itself.
pub(super) struct Trace {
    /// Sends the clock of the run, and is closed at its end.
    run: Sender<Clock>,
    thread: JoinHandle<Result<Windows, NoWindows>>,
}

impl Trace {
    /// Starts the thread, and waits until the kernel traces, so that an error is known before the
    /// run.
    pub(super) fn start(connections: Connections, directory: &Path) -> Result<Self, NoWindows> {
        let table = TableWriter::create(&WINDOWS, directory)?;
        let (ready, readiness) = channel();
        let (run, begun) = channel();
        let follow = move || {
            // The tracer is created on the thread that uses it, as it cannot be moved to another.
            let tracer = Tracer::start(&connections.filter())?;
            // If the receiver is gone, the run is over.
            let _ = ready.send(());
            Writing { tracer, connections, table, windows: Windows::default() }.follow(&begun)
        };
        let thread = thread::Builder::new().name("fairwave-windows".to_owned()).spawn(follow)?;
        match readiness.recv() {
            Ok(()) => Ok(Self { run, thread }),
            Err(_) => Err(join(thread).err().unwrap_or(NoWindows::NotRoot)),
        }
    }
}

impl Tracing for Trace {
    fn begin(&self, clock: Clock) {
        // If the thread has ended, joining it returns its error.
        let _ = self.run.send(clock);
    }

    fn end(self: Box<Self>) -> Result<Windows, NoWindows> {
        drop(self.run);
        join(self.thread)
    }
}

fn join(thread: JoinHandle<Result<Windows, NoWindows>>) -> Result<Windows, NoWindows> {
    thread.join().unwrap_or_else(|payload| resume_unwind(payload))
}

/// A table in progress.
struct Writing {
    tracer: Tracer,
    connections: Connections,
    table: TableWriter<WindowRow>,
    windows: Windows,
}

impl Writing {
    /// Writes events of the whole run.
    fn follow(mut self, begun: &Receiver<Clock>) -> Result<Windows, NoWindows> {
        let Ok(clock) = begun.recv() else { return Ok(self.windows) };
        while !matches!(begun.try_recv(), Err(TryRecvError::Disconnected)) {
            let events = self.tracer.read(PATIENCE)?;
            self.push(&events, clock)?;
        }
        let last = self.tracer.stop()?;
        self.push(&last, clock)?;
        self.windows.missed = self.tracer.missed()?;
        self.table.finish()?;
        Ok(self.windows)
    }

    fn push(&mut self, events: &[Event], clock: Clock) -> Result<(), NoWindows> {
        let begun_ns = self.tracer.begun_ns();
        for event in events {
            let Some((flow, path)) = self.connections.find(event) else { continue };
            let bytes = |segments: u32| u64::from(segments) * u64::from(event.mss);
            self.table.push(WindowRow {
                at: clock.at(begun_ns + event.at.as_nanos()),
                flow,
                path,
                cwnd: bytes(event.cwnd),
                ssthresh: event.ssthresh.map(bytes),
                flight: event.unacknowledged.into(),
                pipe: bytes(event.in_flight),
                srtt: event.srtt,
                acked: event.acked,
                retransmissions: event.retransmitted.into(),
                lost: event.lost.into(),
                phase: event.phase.name(),
            })?;
            self.windows.rows += 1;
        }
        Ok(())
    }
}
