//! Signals that end a command in an orderly way.

use crate::outcome::Failure;
#[cfg(target_os = "linux")]
use signal_hook::consts::SIGHUP;
#[cfg(unix)]
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Signals that end an emulation.
#[cfg(target_os = "linux")]
pub(crate) const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// Signals that end a simulation. It needs no terminal: `nohup` protects it from SIGHUP.
#[cfg(unix)]
pub(crate) const OF_SIMULATION: [i32; 2] = [SIGINT, SIGTERM];
/// Signals that end a simulation: none on this platform.
#[cfg(not(unix))]
pub(crate) const OF_SIMULATION: [i32; 0] = [];

/// The reaction of a command that completes the runs in progress, in words.
pub(crate) const AFTER_RUNS: &str = "after the runs under way";

/// The same as [`on`] for a command that does not end at once. On the first signal, a message on
/// standard error states how it will end. This starts a thread.
pub(crate) fn on_saying(signals: &[i32], how: &'static str) -> Result<Arc<AtomicBool>, Failure> {
    let stop = on(signals)?;
    #[cfg(unix)]
    answer(signals, how).map_err(Failure::run)?;
    #[cfg(not(unix))]
    let _ = how;
    Ok(stop)
}

/// A flag that the first of `signals` sets, for an orderly end of the command. The second one ends
/// the process at once.
pub(crate) fn on(signals: &[i32]) -> Result<Arc<AtomicBool>, fairwave_console::Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in signals {
        #[cfg(unix)]
        // The order matters: at the first signal the shutdown finds the flag unset, and only then
        // is it set.
        signal_hook::flag::register_conditional_shutdown(*signal, 128 + signal, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(*signal, Arc::clone(&stop)))
            .map_err(fairwave_console::Failure::run)?;
        #[cfg(not(unix))]
        let _ = signal;
    }
    Ok(stop)
}

/// Prints a message on the first signal. A signal handler must not print, so it wakes a thread that
/// does.
#[cfg(unix)]
fn answer(signals: &[i32], how: &'static str) -> std::io::Result<()> {
    use std::io::{IsTerminal, Read};
    let (mut woken, waker) = std::os::unix::net::UnixStream::pair()?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, waker.try_clone()?)?;
    }
    let answer = move || {
        if woken.read_exact(&mut [0]).is_ok() {
            // On a terminal the progress bar occupies the line.
            let line = if std::io::stderr().is_terminal() { "\n" } else { "" };
            let again = "a second signal stops at once";
            crate::output::note(&format!("{line}stopping {how}; {again}"));
        }
    };
    std::thread::Builder::new().spawn(answer)?;
    Ok(())
}
