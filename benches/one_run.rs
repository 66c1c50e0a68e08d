//! One run of a timed world, for a profiler: `one-run udp 1000` simulates 1000 ms of fifty
//! saturated stations, `one-run tcp 10000` ten seconds of sixteen uploads. Prints the frames put
//! on the air, so that two lengths give the instructions a frame takes, construction aside.

mod worlds;

use fairwave_trace::Discard;
use fairwave_units::Duration;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, millis] = &arguments[..] else { return Err("usage: one-run udp|tcp MILLIS".into()) };
    let millis = millis.parse().map_err(|error| format!("{millis}: {error}"))?;
    let duration = Duration::from_millis(millis);
    let world = match case.as_str() {
        "udp" => worlds::saturated_uplink(50, duration),
        "tcp" => worlds::tcp_uploads(16, duration),
        other => return Err(format!("{other}: udp or tcp")),
    };
    let outcome = fairwave_sim::run(&world, &mut Discard, &mut |_| {});
    print(outcome.map_err(|error| error.to_string())?.frames);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a program's answer")]
fn print(frames: u64) {
    println!("{frames}");
}
