//! The live view of an emulation: a table of figures that changes while the run lasts.

use super::live::{Live, NodeState, State};
use fairwave_console::live_table::{self, LiveTable};
use fairwave_trace::StationSample;
use fairwave_units::Duration;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Interval between two drawings of the screen; rates are means over it.
const EVERY: core::time::Duration = core::time::Duration::from_millis(500);
/// Heads of the columns.
const HEADS: [&str; 7] =
    ["node", "Mbps sent", "received", "queue", "retries/s", "airtime %", "lost here"];

/// Draws on the terminal until `over`; q and Ctrl-C set `stop`.
///
/// # Errors
/// The terminal cannot be drawn on.
pub fn watch(live: &Live, stop: &AtomicBool, over: &AtomicBool) -> io::Result<()> {
    let mut before = live.state();
    let mut is_first = true;
    live_table::follow(EVERY, |is_ended| {
        if is_ended {
            stop.store(true, Ordering::Relaxed);
        }
        if over.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        // Rates need an interval, which has not passed on the first call. When the user has
        // requested the end, the present screen stays until the run is over.
        if is_ended || std::mem::take(&mut is_first) {
            return ControlFlow::Continue(None);
        }
        let now = live.state();
        let shown = between(&before, &now);
        before = now;
        ControlFlow::Continue(Some(shown))
    })
}

/// Figures for the time between two states.
fn between(before: &State, now: &State) -> LiveTable<'static> {
    LiveTable { headline: headline(now), heads: &HEADS, rows: rows(before, now) }
}

/// Figures of the whole run.
fn headline(now: &State) -> String {
    let us = |of: Duration| of.as_nanos() / 1000;
    let late =
        now.lateness.as_ref().map_or((0, 0), |(events, packets)| (us(events.p99), us(packets.p99)));
    format!(
        "{:.1} s   packets under way: {}   programs running: {}\n\
         lateness at p99: events {} us, packets {} us   (q ends the run)",
        now.now.as_nanos() as f64 / 1e9,
        now.under_way,
        now.programs,
        late.0,
        late.1,
    )
}

/// A row of figures for each real node and each other radio, then one for each flow.
fn rows(before: &State, now: &State) -> Vec<Vec<String>> {
    let is_real = |name: &&String| now.nodes.iter().any(|node| node.name == **name);
    let others = now.newest.stations.keys().filter(|name| !is_real(name));
    let names = now.nodes.iter().map(|node| &node.name).chain(others);
    let flows = now.newest.flows.keys().map(|name| flow_row(name, before, now));
    names.map(|name| row(name, before, now)).chain(flows).collect()
}

/// Throughput of a flow of the scenario, simulated or on sockets. The packets of a flow on sockets
/// are also among those of its nodes; those of a simulated flow are not.
fn flow_row(name: &str, before: &State, now: &State) -> Vec<String> {
    let delivered =
        |state: &State| state.newest.flows.get(name).map_or(0, |sample| sample.delivered_bytes);
    let bytes = delivered(now).saturating_sub(delivered(before));
    let received = mbps(bytes, now.now.since(before.now));
    let none = || "-".to_owned();
    vec![format!("flow {name}"), none(), received, none(), none(), none(), none()]
}

/// Converts bytes in a time to Mbps.
fn mbps(bytes: u64, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    format!("{:.3}", if seconds > 0.0 { 8e-6 * bytes as f64 / seconds } else { 0.0 })
}

fn row(name: &str, before: &State, now: &State) -> Vec<String> {
    let between = now.now.since(before.now);
    let seconds = between.as_secs_f64();
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let of = |state: &State| state.nodes.iter().find(|node| node.name == name).cloned();
    let passed = of(now).map(|now| {
        let before = of(before).unwrap_or_default();
        let passed =
            |get: fn(&NodeState) -> u64| mbps(get(&now).saturating_sub(get(&before)), between);
        [passed(|node| node.bytes_in), passed(|node| node.bytes_out), now.lost.to_string()]
    });
    let [sent, received, lost] = passed.unwrap_or_else(|| ["-"; 3].map(str::to_owned));
    let sample = |state: &State| state.newest.stations.get(name).copied();
    let radio = sample(now).map(|now| {
        let before = sample(before).unwrap_or_default();
        let on_air = |sample: &StationSample| sample.airtime + sample.control_airtime;
        let airtime = on_air(&now).saturating_sub(on_air(&before)).as_nanos();
        let retries = rate(now.failures.saturating_sub(before.failures));
        [format!("{retries:.0}"), format!("{:.1}", 1e-7 * rate(airtime))]
    });
    let [retries, airtime] = radio.unwrap_or_else(|| ["-"; 2].map(str::to_owned));
    vec![name.to_owned(), sent, received, waiting(name, now).to_string(), retries, airtime, lost]
}

/// Packets that wait at a node, before its radio and its links.
fn waiting(name: &str, now: &State) -> u32 {
    let is_its = |queue: &str| queue.split('>').next() == Some(name);
    let queues = now.newest.queues.iter().filter(|(queue, _)| is_its(queue));
    queues.map(|(_, sample)| sample.packets).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Instant;

    fn state(seconds: u64, bytes: u64, failures: u64) -> State {
        let now = Instant::ZERO + Duration::from_secs(seconds);
        let name = "sta1".to_owned();
        let node = NodeState { name, bytes_in: bytes, lost: 7, ..NodeState::default() };
        let mut state = State { now, programs: 3, nodes: vec![node], ..State::default() };
        let (airtime, control) = (250 * seconds, 50 * seconds);
        for name in ["ap", "sta1"] {
            let station = state.newest.stations.entry(name.to_owned()).or_default();
            station.failures = failures;
            station.airtime = Duration::from_millis(airtime);
            station.control_airtime = Duration::from_millis(control);
        }
        let flow = state.newest.flows.entry("up".to_owned()).or_default();
        flow.delivered_bytes = bytes / 2;
        for queue in ["ap", "ap>server", "server>ap"] {
            state.newest.queues.entry(queue.to_owned()).or_default().packets = 11;
        }
        state
    }

    #[test]
    fn a_screen_shows_what_happened_since_the_last() {
        let (before, now) = (state(1, 1_000_000, 40), state(3, 3_000_000, 60));
        let screen = live_table::on_terminal(&between(&before, &now), 84, 8);
        let has = |name: &str, figures: &[&str]| {
            let line = screen.lines().find(|line| line.trim_matches('"').starts_with(name));
            let line = line.unwrap_or_else(|| panic!("no {name} in\n{screen}"));
            let words: Vec<&str> = line.trim_matches('"').split_whitespace().skip(1).collect();
            assert_eq!(words, figures, "{screen}");
        };
        has("sta1", &["8.000", "0.000", "0", "10", "30.0", "7"]);
        has("ap", &["-", "-", "22", "10", "30.0", "-"]);
        has("flow", &["up", "-", "4.000", "-", "-", "-", "-"]);
        assert!(screen.contains("3.0 s") && screen.contains("programs running: 3"), "{screen}");
    }

    #[test]
    fn names_are_whole_and_what_finds_no_line_is_counted() {
        let mut state = state(1, 0, 0);
        let name = |n: usize| format!("station-upper-floor-{n}");
        let node = |n| NodeState { name: name(n), ..NodeState::default() };
        state.nodes = (1..=30).map(node).collect();
        let screen = live_table::on_terminal(&between(&state, &state), 80, 24);
        assert!(screen.contains(&name(19)) && !screen.contains(&name(20)), "{screen}");
        // Two radios, `ap` and `sta1`, and a flow are beside the nodes.
        assert!(screen.contains("... and 14 more"), "{screen}");
        for head in HEADS {
            assert!(screen.contains(head), "{head}: {screen}");
        }
    }

    #[test]
    fn a_run_without_anything_has_a_screen() {
        let nothing = State::default();
        let table = between(&nothing, &nothing);
        let screen = live_table::on_terminal(&table, 84, 8);
        for word in HEADS.into_iter().chain(["0.0 s", "programs running: 0"]) {
            assert!(screen.contains(word), "{word}: {screen}");
        }
        let small = live_table::on_terminal(&table, 20, 2);
        assert!(small.contains("0.0 s"), "{small}");
    }
}
