//! Cost of a packet in each scheduler of hosts, in nanoseconds and instructions: the minimum of
//! many short batches, which is hardly disturbed by other programs on the same core.
//! `scheduler-turns` measures all schedulers, and fits a + b log2 n; with names of schedulers it
//! only measures those. `scheduler-turns SCHEDULER HOSTS PACKETS TURNS` makes TURNS turns, for a
//! profiler: the difference of two lengths gives the instructions per turn, without the set-up.

mod turns;

use fairwave_units::math;
use std::hint::black_box;
use turns::{HOSTS, LOADS, Loaded, specs};

const BATCHES: u32 = 1500;
const TURNS: u32 = 1000;
const USAGE: &str = "usage: scheduler-turns [SCHEDULER...] or SCHEDULER HOSTS PACKETS TURNS";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Result<Vec<u32>, _> = arguments.iter().skip(1).map(|text| text.parse()).collect();
    if let ([name, ..], Ok([hosts, packets, turns])) = (&*arguments, numbers.as_deref()) {
        let specs = specs();
        let spec = specs.iter().find(|(known, _)| known == name).ok_or(USAGE)?;
        let mut loaded = Loaded::new(&spec.1, *hosts, *packets);
        (0..*turns).for_each(|_| _ = black_box(loaded.turn()));
        return Ok(());
    }
    for (packets, load) in LOADS {
        print(&format!("\n{load}: ns\n"));
        let hosts = HOSTS.map(|hosts| hosts.to_string()).join(" | ");
        print(&format!("| scheduler | {hosts} | a + b log2 n |"));
        print("|---|---|---|---|---|---|");
        for (name, spec) in specs() {
            if !arguments.is_empty() && !arguments.iter().any(|wanted| wanted == name) {
                continue;
            }
            let ns = HOSTS.map(|hosts| least(&mut Loaded::new(&spec, hosts, packets)));
            let (a, b) = fit(ns);
            let cells = ns.map(|ns| format!("{ns:.0}")).join(" | ");
            print(&format!("| {name} | {cells} | {a:.0} + {b:.1} log2 n |"));
        }
    }
    Ok(())
}

/// Nanoseconds of a turn in the fastest batch.
fn least(loaded: &mut Loaded) -> f64 {
    // Warms up the caches before the measurement.
    (0..100).for_each(|_| _ = batch(loaded));
    (0..BATCHES).map(|_| batch(loaded)).fold(f64::INFINITY, f64::min)
}

/// Nanoseconds of a turn, as a mean over a batch.
#[expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a bench reads the clock, and nothing else does"
)]
fn batch(loaded: &mut Loaded) -> f64 {
    let start = std::time::Instant::now();
    (0..TURNS).for_each(|_| _ = black_box(loaded.turn()));
    start.elapsed().as_secs_f64() * 1e9 / f64::from(TURNS)
}

/// Fits a line to the points (log2 hosts, ns) by least squares. Returns its intercept and slope.
fn fit(ns: [f64; HOSTS.len()]) -> (f64, f64) {
    let x = HOSTS.map(|hosts| math::ln(f64::from(hosts)) / core::f64::consts::LN_2);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mx, my) = (mean(&x), mean(&ns));
    let products = x.iter().zip(&ns).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>();
    let slope = products / x.iter().map(|x| (x - mx) * (x - mx)).sum::<f64>();
    (my - slope * mx, slope)
}

#[expect(clippy::print_stdout, reason = "a program's answer")]
fn print(line: &str) {
    println!("{line}");
}
