//! One run of a timed world, for a profiler. `one-run udp 1000` simulates 1000 ms of fifty
//! saturated stations, `one-run tcp 10000` ten seconds of sixteen uploads; a third argument
//! replaces the number of stations. Prints the number of frames on the air: the difference of two
//! lengths gives the instructions per frame, without the construction.

mod worlds;

use fairwave_trace::Discard;
use fairwave_units::Duration;

const USAGE: &str = "usage: one-run udp|tcp MILLIS [STATIONS]";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (case, numbers) = arguments.split_first().ok_or(USAGE)?;
    let number = |text: &String| text.parse().map_err(|error| format!("{text}: {error}"));
    let numbers = numbers.iter().map(number).collect::<Result<Vec<u32>, String>>()?;
    let (millis, stations) = match numbers[..] {
        [millis] => (millis, None),
        [millis, stations] => (millis, Some(stations)),
        _ => return Err(USAGE.into()),
    };
    let duration = Duration::from_millis(u64::from(millis));
    let world = match case.as_str() {
        "udp" => worlds::saturated_uplink(stations.unwrap_or(50), duration),
        "tcp" => worlds::tcp_uploads(stations.unwrap_or(16), duration),
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
