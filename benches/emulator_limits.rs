//! Capacity of the emulator. `emulator-limits NAME=FILE...` finds the highest rate of small
//! packets, of packets of 1500 bytes and of one TCP connection from node `a` to node `b` of each
//! scenario file, and of a bare forwarder between two TUN devices. `cargo xtask bench-emulate`
//! records its output, which are lines of JSON.
//!
//! A rate is carried if in one of [`TRIES`] tries nothing is lost, all that was offered arrives,
//! and everything is in time. In time means that no lateness at p99 is above [`LATE`] times that of
//! a bare timer loop of the same priority immediately before. Limits without that condition are
//! determined as well. The latenesses of the emulator and of the forwarder are:
//!
//! - of events of the world: from their time to their handling; the forwarder has none;
//! - of writing: from a packet's time of arrival in the world until it is written; for the
//!   forwarder, from reading it;
//! - of reading: from the sending of a packet until it is read. The sender wakes every 200 us and
//!   sends a burst of all packets that are due. Each datagram carries the time of its own turn in
//!   the burst, so that only the reader's delay counts. Segments of TCP carry no time: they count
//!   as sent when their device was last found to be empty.
//!
//! The timer loop has a timer every 500 us, also after late ones. A pause of the host therefore
//! makes all timers in it late, just as it delays all events and packets in it.
//!
//! The kernel receives packets at a node of the emulator on the other processors (receive packet
//! steering), so that the loop only writes and does no receiver's work. The bare forwarder does
//! this work itself. In the rows "forwarder, steered" its nodes are configured as the emulator's.
//!
//! Rates are bisected to within [`WITHIN`]. The emulator stays awake for 500 us
//! (`emulate.busy_wait`) and has real-time priority where that is permitted, as with `--realtime`.
//! Emulator, forwarder and timer have the last processor to themselves; sender and receiver share
//! the others.

mod limits_load;
mod limits_path;

use fairwave_emulator::meter::Lateness;
use fairwave_linux::clock::Clock;
use fairwave_netns::keeper;
use fairwave_scenario::plan::Plan;
use fairwave_sim::Spread;
use fairwave_units::Duration;
use limits_load::{Load, Sent};
use limits_path::{Path, Seen, stand_back, stand_out};
use std::ffi::OsString;
use std::process::ExitCode;

/// Maximum number of tries of a rate.
const TRIES: u32 = 2;
/// Maximum lateness, as a multiple of a bare timer's.
const LATE: f64 = 1.5;
/// Ratio of two rates at which the bisection ends.
const WITHIN: f64 = 1.15;
/// Share of the offered load that must arrive while the load lasts.
const ARRIVES: f64 = 0.98;

/// The loads, and the bounds for the search of each limit, in units of the load per second.
const LOADS: [(Load, f64, f64); 3] = [
    (Load::Datagrams { payload: 64 }, 5_000.0, 400_000.0),
    (Load::Datagrams { payload: 1472 }, 5_000.0, 400_000.0),
    (Load::Stream, 50e6 / 8.0, 10e9 / 8.0),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == keeper::COMMAND) {
        let words: Vec<OsString> = std::env::args_os().skip(2).collect();
        return keeper::main(&words).into();
    }
    let limits = if arguments.is_empty() {
        Err("usage: emulator-limits NAME=FILE...".into())
    } else {
        all(&arguments)
    };
    match limits {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn all(arguments: &[String]) -> Result<(), String> {
    stand_back();
    let forwarder = Path::forwarder(true)?;
    limits("forwarder", &forwarder, &Demand::Throughput)?;
    limits("forwarder in time", &forwarder, &Demand::InTime)?;
    limits("forwarder, steered", &Path::forwarder(false)?, &Demand::Throughput)?;
    for argument in arguments {
        let (name, file) = argument.split_once('=').ok_or("write NAME=FILE")?;
        let plan = Plan::load(file.as_ref(), &[]).map_err(|error| format!("{file}: {error:?}"))?;
        let [job] = plan.jobs()[..] else { return Err(format!("{file}: has a sweep")) };
        let world = plan.scenario(job).to_world(job.seed);
        limits(name, &Path::emulator(world)?, &Demand::InTime)?;
    }
    Ok(())
}

/// Condition for a rate to be carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    /// Everything arrives.
    Throughput,
    /// Everything arrives, and in time.
    InTime,
}

/// Prints the limit of each load, one line of JSON each.
fn limits(name: &str, path: &Path, demand: &Demand) -> Result<(), String> {
    LOADS.iter().try_for_each(|case| {
        print(&row(name, &case.0, &limit(path, case, *demand)?));
        Ok(())
    })
}

/// The highest rate that was carried, and the reason why the next one was not.
struct Limit {
    timer: Lateness,
    carried: Option<(f64, Seen, Sent)>,
    refused: Option<(f64, String)>,
}

fn limit(path: &Path, case: &(Load, f64, f64), demand: Demand) -> Result<Limit, String> {
    let &(load, min, max) = case;
    let mut limit = Limit { timer: bare_timer(), carried: None, refused: None };
    let (mut low, mut high) = (min, max);
    while high / low > WITHIN {
        // The geometric mean, since the search ends by the ratio of the bounds.
        let rate = (low * high).sqrt();
        match attempt(path, load, rate, demand, &mut limit.timer)? {
            Ok((seen, sent)) => (low, limit.carried) = (rate, Some((rate, seen, sent))),
            Err(why) => (high, limit.refused) = (rate, Some((rate, why))),
        }
    }
    Ok(limit)
}

/// Figures of a carried rate, or the reason why it was not carried.
type Attempt = Result<(Seen, Sent), String>;

fn attempt(
    path: &Path,
    load: Load,
    rate: f64,
    demand: Demand,
    timer: &mut Lateness,
) -> Result<Attempt, String> {
    let mut last = Err(String::new());
    for _ in 0..TRIES {
        // Measured before each try, since the machine's own lateness changes.
        *timer = bare_timer();
        let (seen, sent) = path.carry(load, rate)?;
        last = judge(&seen, &sent, timer, demand).map(|()| (seen, sent));
        if last.is_ok() {
            break;
        }
    }
    Ok(last)
}

/// Checks a try against the demand.
///
/// # Errors
///
/// The first condition that is not met.
fn judge(seen: &Seen, sent: &Sent, timer: &Lateness, demand: Demand) -> Result<(), String> {
    let max = LATE * timer.p99.as_nanos() as f64 / 1e3;
    let (what, late) = (seen.late.0, seen.late.1.as_nanos() as f64 / 1e3);
    if sent.units < ARRIVES * sent.asked {
        return Err("the sender could send no faster".into());
    }
    if seen.lost_here > 0 {
        return Err(format!("{} packets lost at the devices", seen.lost_here));
    }
    if demand == Demand::InTime && late > max {
        return Err(format!("{what} was late by {late:.0} us at p99, allowed were {max:.0} us"));
    }
    if seen.lost_in_world > 0 {
        return Err(format!("the scenario's queues dropped {} packets", seen.lost_in_world));
    }
    if sent.arrived < ARRIVES * sent.units {
        return Err(format!("{:.1} % arrived in time", 100.0 * sent.arrived / sent.units));
    }
    Ok(())
}

/// Lateness of a loop that only sleeps, in a thread with the priority of the emulator's.
fn bare_timer() -> Lateness {
    const PERIOD: Duration = Duration::from_micros(500);
    let measure = || {
        stand_out();
        let clock = Clock::start();
        let mut late = Spread::with_room();
        let mut until = clock.now();
        for _ in 0..600 {
            until += PERIOD;
            clock.sleep_until(until);
            late.add(clock.now().since(until));
        }
        Lateness::of(&late)
    };
    std::thread::scope(|scope| scope.spawn(measure).join().expect("it does not panic"))
}

fn row(name: &str, load: &Load, limit: &Limit) -> String {
    let (rate, units, late, cpu, counts) = match &limit.carried {
        Some((rate, seen, sent)) => {
            let late = seen.late.1.as_nanos().to_string();
            (*rate, sent.arrived / sent.seconds, late, seen.cpu_load, seen.wakes_per_packet())
        }
        None => (0.0, 0.0, "null".into(), 0.0, 0.0),
    };
    let (refused, why) = match &limit.refused {
        Some((rate, why)) => (*rate, why.as_str()),
        None => (0.0, ""),
    };
    format!(
        "{{\"path\": \"{name}\", \"load\": \"{}\", \"packets_per_second\": {:.0}, \"mbps\": \
         {:.1}, \"offered_mbps\": {:.1}, \"late_p99_ns\": {late}, \"timer_p99_ns\": {}, \
         \"timer_p50_ns\": {}, \"cpu_load\": {cpu:.2}, \"turns_per_packet\": {counts:.2}, \
         \"refused_mbps\": {:.1}, \"refused_because\": \"{why}\"}}",
        load.name(),
        load.packets(units),
        load.mbps(units),
        load.mbps(rate),
        limit.timer.p99.as_nanos(),
        limit.timer.p50.as_nanos(),
        load.mbps(refused),
    )
}

#[expect(clippy::print_stdout, reason = "a program's answer")]
fn print(line: &str) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "a program's complaint")]
fn complain(line: &str) {
    eprintln!("emulator-limits: {line}");
}
