//! The runs of `fairwave shake diagnose`: each path alone, then all together.

use crate::diagnosis::judge;
use crate::meter::{self, Test};
use crate::report::{DiagnosisOutput, RunOutput, RunPath};
use crate::socks::request;
use crate::tasks::{on_runtime, until_stopped};
use crate::via::Vias;
use fairwave_console::{Console, Failure};
use fairwave_linux::clock::{thread_cpu, thread_wait};
use fairwave_shake_host::endpoint::PathStats;
use fairwave_shake_host::{Config, Host, Session, Stream};
use fairwave_units::Duration;
use fast_socks5::consts;
use nix::net::if_::if_nametoindex;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep, timeout};

/// Interval of samples of the round-trip times.
const SAMPLE: time::Duration = time::Duration::from_millis(100);
/// Time for the other paths to answer after the first.
const OTHERS: time::Duration = time::Duration::from_secs(2);

/// Options of a diagnosis.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) config: Config,
    pub(crate) server: SocketAddr,
    pub(crate) via: Vec<String>,
    /// Time of each run.
    pub(crate) time: Duration,
    /// Time for the first answer.
    pub(crate) timeout: Duration,
    pub(crate) test: Test,
}

/// Measures until all runs are over or `stop` is set.
///
/// # Errors
/// If it is interrupted, there is no such interface, no path works, or the server refuses the test.
pub(crate) fn run(
    console: &dyn Console,
    plan: &Plan,
    stop: &AtomicBool,
) -> Result<DiagnosisOutput, Failure> {
    check_interfaces(&plan.via)?;
    let measured = async {
        let mut alone = Vec::new();
        for via in &plan.via {
            note(console, &format!("{via} alone"));
            alone.push(measure(plan, std::slice::from_ref(via)).await?);
        }
        if alone.iter().all(|run| !run.has_answered) {
            let all = plan.via.join(", ");
            return Err(Failure::Run(format!(
                "{}: no answer over {all}: is `fairwave shake serve` running there, with the same \
                 key, and does UDP pass?",
                plan.server
            )));
        }
        note(console, "all together");
        let together = measure(plan, &plan.via).await?;
        Ok(judge(plan.server.to_string(), alone, together))
    };
    on_runtime(async {
        tokio::select! {
            output = measured => output,
            () = until_stopped(stop, None) => Err(Failure::Run("interrupted".to_owned())),
        }
    })
}

/// Refuses an interface that does not exist: without it, no answer would say nothing of the server.
fn check_interfaces(names: &[String]) -> Result<(), Failure> {
    match names.iter().find(|name| if_nametoindex(name.as_str()).is_err()) {
        Some(name) => Err(Failure::Usage(format!("--via {name}: there is no such interface"))),
        None => Ok(()),
    }
}

fn note(console: &dyn Console, text: &str) {
    if !console.is_quiet() {
        console.note(&format!("measuring {text}"));
    }
}

/// Measures over these interfaces. Without an answer there are no figures.
async fn measure(plan: &Plan, via: &[String]) -> Result<RunOutput, Failure> {
    let host = Host::client(plan.config.clone()).map_err(Failure::run)?;
    let mut vias = Vias::new(plan.server, via, Vec::new());
    vias.look(&host);
    let result = match host.connect(plan.timeout).await {
        Ok(session) => loaded(plan, &session, via).await,
        Err(_) => Ok(RunOutput { paths: named(via), ..RunOutput::default() }),
    };
    host.close().await;
    result
}

fn named(via: &[String]) -> Vec<RunPath> {
    via.iter().map(|via| RunPath { via: via.clone(), ..RunPath::default() }).collect()
}

/// Waits until all paths have answered. One that does not is left out, as it would be in use.
async fn wait_for_others(session: &Session, paths: usize) {
    let answered = async {
        while session.paths().iter().filter(|path| path.mtu.is_some()).count() < paths {
            sleep(SAMPLE).await;
        }
    };
    // The time is over, or all have answered.
    let _ = timeout(OTHERS, answered).await;
}

/// Counters at a time.
struct Snapshot {
    paths: Vec<PathStats>,
    /// Processor time of this thread, with the time that it waited for a processor.
    cpu: Duration,
    at: Instant,
}

impl Snapshot {
    fn take(session: &Session) -> Self {
        Self { paths: session.paths(), cpu: thread_cpu() + thread_wait(), at: Instant::now() }
    }

    fn path(&self, id: usize) -> PathStats {
        let path = self.paths.iter().find(|path| usize::from(path.path) == id);
        path.copied().unwrap_or_default()
    }

    /// Bytes of UDP's payload on all paths.
    fn payload(&self) -> u64 {
        self.paths.iter().map(payload).sum()
    }

    /// The run between an earlier snapshot and this one, in which the application received these
    /// bytes.
    fn since(
        &self,
        before: &Self,
        via: &[String],
        received: u64,
        rtts_ms: &[Vec<f64>],
    ) -> RunOutput {
        let seconds = self.at.duration_since(before.at).as_secs_f64();
        let paths = via.iter().zip(rtts_ms).enumerate().map(|(id, (via, rtts_ms))| {
            path_output(via, &before.path(id), &self.path(id), rtts_ms, seconds)
        });
        RunOutput {
            has_answered: true,
            seconds,
            mbps: received as f64 * 8e-6 / seconds,
            cpu: (self.cpu - before.cpu).as_secs_f64() / seconds,
            paths: paths.collect(),
        }
    }
}

/// Loads an open session with a test stream.
async fn loaded(plan: &Plan, session: &Session, via: &[String]) -> Result<RunOutput, Failure> {
    wait_for_others(session, via.len()).await;
    let stream = session.open().map_err(Failure::run)?;
    let seconds = plan.time.as_secs_f64().ceil() as u16;
    let target = plan.test.target(seconds);
    let refused =
        |why| Failure::Run(format!("{}: the server refuses the test: {why}", plan.server));
    let mut stream =
        request(stream, consts::SOCKS5_CMD_TCP_CONNECT, &target).await.map_err(refused)?;
    let (mut read, mut rtts_ms) = (0, vec![Vec::new(); via.len()]);
    let before = Snapshot::take(session);
    let time = time::Duration::from_nanos(plan.time.as_nanos());
    tokio::select! {
        carried = carry(plan.test, &mut stream, time, &mut read) => carried.map_err(Failure::run)?,
        () = sample(session, &mut rtts_ms) => {}
        () = sleep(time) => {}
    }
    let after = Snapshot::take(session);
    let carried = match plan.test {
        Test::Source => read,
        Test::Sink => after.payload().saturating_sub(before.payload()),
    };
    Ok(after.since(&before, via, carried, &rtts_ms))
}

/// Writes to a test stream, or reads from it and counts the bytes.
async fn carry(
    test: Test,
    stream: &mut Stream,
    time: time::Duration,
    read: &mut u64,
) -> io::Result<()> {
    if test == Test::Sink {
        return meter::write(stream, time).await;
    }
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            len => *read += len as u64,
        }
    }
}

/// Samples the round-trip times of the paths without end.
async fn sample(session: &Session, rtts_ms: &mut [Vec<f64>]) {
    loop {
        session.ask();
        sleep(SAMPLE).await;
        for path in session.paths() {
            if let Some((rtt, rtts_ms)) = path.rtt.zip(rtts_ms.get_mut(usize::from(path.path))) {
                rtts_ms.push(rtt.as_secs_f64() * 1e3);
            }
        }
    }
}

/// Bytes of UDP's payload, both ways.
fn payload(path: &PathStats) -> u64 {
    path.bytes_sent + path.bytes_received
}

fn path_output(
    via: &str,
    before: &PathStats,
    after: &PathStats,
    times: &[f64],
    seconds: f64,
) -> RunPath {
    let share = |(all, lost): (u64, u64), (old, gone): (u64, u64)| {
        (all.saturating_sub(old), lost.saturating_sub(gone))
    };
    let (sent, received) = (share(after.sent, before.sent), share(after.received, before.received));
    let all = sent.0 + received.0;
    // The first half has the beginning, in which the queue is still empty.
    let mut late = times[times.len() / 2..].to_vec();
    late.sort_by(f64::total_cmp);
    RunPath {
        via: via.to_owned(),
        mbps: payload(after).saturating_sub(payload(before)) as f64 * 8e-6 / seconds,
        min_rtt_ms: after.min_rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
        loaded_rtt_ms: late.get(late.len() / 2).copied(),
        loss: (all > 0).then(|| (sent.1 + received.1) as f64 / all as f64),
    }
}
