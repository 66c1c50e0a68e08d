//! `shake-segments PATHS ROUNDS` sends over PATHS paths for ROUNDS milliseconds, for a profiler,
//! and prints the number of segments sent. The difference of two lengths gives the instructions per
//! segment with both ends and its acknowledgement, without the set-up.

mod shake_pair;

use shake_pair::Pair;

const USAGE: &str = "usage: shake-segments PATHS ROUNDS";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [paths, rounds] = &arguments[..] else { return Err(USAGE.into()) };
    let paths = paths.parse().map_err(|error| format!("{paths}: {error}"))?;
    let rounds: u64 = rounds.parse().map_err(|error| format!("{rounds}: {error}"))?;
    let mut pair = Pair::new(paths);
    (0..rounds).for_each(|_| pair.round());
    print(pair.sent);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a program's answer")]
fn print(segments: u64) {
    println!("{segments}");
}
