//! The paper's open question (section 6): which filter is best, at which interval, for somebody who
//! walks at which speed. The golden table is the answer under Rayleigh fading.

use fairwave_dot11::{Fading, FadingLink};
use fairwave_soc::{FILTERS, Point, evaluate};
use fairwave_units::{Db, Duration, Instant, Seed, math};
use std::fmt::Write as _;
use std::fs;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/filters.txt");

/// Two minutes of walking to and fro between 5 and 25 m from the access point, sampled each 10 ms:
/// 30 dB at 5 m, path loss with exponent 3, fading at 2.4 GHz.
fn walk(metres_per_second: f64) -> Vec<Point> {
    let doppler_hz = metres_per_second / 0.125;
    let mut link =
        FadingLink::new(Fading { rice_k: 0.0, doppler_hz }, Seed(1).stream("fading/filters"));
    let at_step = |step: u64| {
        let at = Instant::ZERO + Duration::from_millis(10 * step);
        let way = metres_per_second * at.as_secs_f64();
        let back = way - 40.0 * (way / 40.0).floor();
        let distance = 5.0 + if back > 20.0 { 40.0 - back } else { back };
        let mean = 30.0 - 30.0 * math::log10(distance / 5.0);
        Point { at, mean: Db(mean), sample: Db(mean + math::linear_to_db(link.gain(at))) }
    };
    (0..12_000).map(at_step).collect()
}

fn table() -> String {
    let mut text = "speed  T_soc  filter   bias dB  error dB  noise dB  lag ms\n".to_owned();
    for speed in [0.5, 1.5, 3.0] {
        let points = walk(speed);
        for interval in [20, 100, 200, 500, 1000] {
            for kind in FILTERS {
                let found = evaluate(kind.spec, Duration::from_millis(interval), &points)
                    .expect("two minutes are enough");
                let lag = found.lag.map_or(String::new(), |lag| lag.as_millis().to_string());
                let (bias, error, noise) = (found.bias.0, found.error.0, found.noise.0);
                let name = kind.name;
                writeln!(
                    text,
                    "{speed:<5}  {interval:<5}  {name:<7}  {bias:>7.2}  {error:>8.2}  \
                     {noise:>8.2}  {lag:>6}"
                )
                .expect("a text takes all");
            }
        }
    }
    text
}

#[test]
fn filters_are_as_good_as_the_table_says() {
    let golden = fs::read_to_string(GOLDEN).unwrap_or_default();
    assert_eq!(table(), golden, "`cargo xtask golden` writes it anew");
}

#[test]
#[ignore = "writes the golden table"]
fn bless() {
    fs::write(GOLDEN, table()).expect("the table can be written");
}
