//! Rates, and what is said of them.

use crate::opening::silent;
use crate::{FOUR, Proxy, ask_socks, config, server};
use fairwave_proxy::{Achieved, Config, Direction, Event, Limits, Targets};
use fairwave_units::{BitRate, Duration};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

fn targets(text: &str) -> Targets {
    Targets::parse(text).expect("valid")
}

/// Takes all that comes, to the end.
fn takes(mut client: TcpStream) {
    // It ends with the test, perhaps by a reset.
    let _ = std::io::copy(&mut client, &mut std::io::sink());
}

/// Sends without end.
fn floods(mut client: TcpStream) {
    while client.write_all(&[0; 1 << 16]).is_ok() {}
}

#[test]
fn targets_are_kept_and_told_and_follow_their_file() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("targets.toml");
    let rule = |rate: &str| format!("[[target]]\nrate = '{rate}'\n");
    fs::write(&file, rule("8M")).expect("a file");
    let limits = Limits { bin: Duration::from_secs(1), ..config().limits };
    let targets = targets(&rule("8M"));
    let proxy = Proxy::start(Config { targets, limits, file: Some(file.clone()), ..config() });
    let (address, _served) = server(FOUR, takes);
    let client = proxy.socks(address);
    std::thread::spawn(move || floods(client));
    let (report, _) = proxy.until(|report, _| report.flows.iter().any(|flow| flow.rate.is_some()));
    let flow = &report.flows[0];
    assert_eq!((flow.target, flow.server, flow.flows), (BitRate::mbps(8), Some(address), 1));
    let judged = report.achieved;
    assert_eq!((judged.reached + judged.missed, judged.not_offered), (1, 0));
    // Pacing allows 5 % more, and a burst.
    assert!(flow.rate.expect("a rate") < BitRate::mbps(10), "{flow:?}");

    fs::write(&file, rule("fast")).expect("a file");
    let (_, events) = proxy.until(|_, events| !events.is_empty());
    assert!(
        matches!(&events[..], [Event::NotReloaded(why)] if why.contains("line 2")),
        "{events:?}"
    );
    fs::write(&file, rule("2M")).expect("a file");
    let (report, _) = proxy.until(|_, events| events == [Event::Reloaded]);
    assert_eq!(report.flows[0].target, BitRate::mbps(2));
    // What was judged by the old target stands.
    assert!(report.achieved.reached + report.achieved.missed >= 1);
}

#[test]
fn a_download_has_a_target_towards_the_client() {
    let rule = "[[target]]\nrate = '8M'\ndirection = 'down'\n";
    let limits = Limits { bin: Duration::from_secs(1), ..config().limits };
    let proxy = Proxy::start(Config { targets: targets(rule), limits, ..config() });
    let (address, _served) = server(FOUR, floods);
    let client = proxy.socks(address);
    std::thread::spawn(move || takes(client));
    let (report, _) = proxy.until(|report, _| report.flows.iter().any(|flow| flow.rate.is_some()));
    let flow = &report.flows[0];
    assert_eq!((flow.target, flow.direction), (BitRate::mbps(8), Direction::Down));
    let judged = report.achieved;
    // The server had more to send, so that the bin counts.
    assert_eq!((judged.reached + judged.missed, judged.not_offered), (1, 0));
    // Pacing allows 5 % more, and a burst.
    assert!(flow.rate.expect("a rate") < BitRate::mbps(10), "{flow:?}");
    // Data to the server have no limit.
    let (address, served) = server(FOUR, |mut client| {
        let mut bytes = vec![0; 8 << 20];
        client.read_exact(&mut bytes).is_ok()
    });
    let mut client = proxy.socks(address);
    client.write_all(&vec![0; 8 << 20]).expect("it reads");
    assert!(served.join().expect("no panic"));
}

/// The rate is beyond the server's receive buffer, so that no bin after the first reaches it.
#[test]
fn bins_in_which_a_server_takes_nothing_are_missed() {
    let limits = Limits { bin: Duration::from_secs(1), ..config().limits };
    let targets = targets("[[target]]\nrate = '1G'\n");
    let proxy = Proxy::start(Config { targets, limits, ..config() });
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let (address, _served) = server(FOUR, move |client| {
        // Until the test is over.
        let _ = ended.recv();
        drop(client);
    });
    let client = proxy.socks(address);
    std::thread::spawn(move || floods(client));
    let all = |judged: Achieved| judged.reached + judged.missed + judged.not_offered;
    let (report, _) = proxy.until(|report, _| all(report.achieved) >= 4);
    let judged = report.achieved;
    assert!(judged.missed >= 2 && judged.not_offered == 0, "{judged:?}");
    drop(end);
}

#[test]
fn an_algorithm_that_the_kernel_does_not_give_is_reported() {
    let congestion = Some("nobodys".to_owned());
    let proxy = Proxy::start(Config { congestion, ..config() });
    let (address, _served) = server(FOUR, takes);
    let _client = proxy.socks(address);
    let (_, events) = proxy.until(|_, events| !events.is_empty());
    let server = address.to_string();
    assert!(
        matches!(&events[..], [Event::DefaultCongestion(why)] if why.starts_with(&server)),
        "{events:?}"
    );
}

#[test]
fn a_host_shares_its_target_and_the_capacity_bounds_all() {
    let host = "capacity = '5M'\nbeyond = 'refuse'\n[[target]]\nrate = '4M'\nper = 'host'\n";
    let proxy = Proxy::start(Config { targets: targets(host), ..config() });
    let opened = [(); 2].map(|()| {
        let (address, _served) = server(FOUR, takes);
        proxy.socks(address)
    });
    let (report, _) = proxy.until(|report, _| report.active == 2);
    assert_eq!(report.flows.len(), 1);
    assert_eq!((report.flows[0].flows, report.flows[0].port), (2, None));
    drop(opened);

    let flows = "capacity = '5M'\nbeyond = 'refuse'\n[[target]]\nrate = '4M'\n";
    for (text, refused, best_effort) in
        [(flows, 1, 0), (&flows.replace("refuse", "best-effort"), 0, 1)]
    {
        let proxy = Proxy::start(Config { targets: targets(text), ..config() });
        let (address, _served) = server(FOUR, takes);
        let _first = proxy.socks(address);
        let (address, _served) = server(FOUR, takes);
        let mut second = proxy.connect();
        // RFC 1928 section 6: 2 is "connection not allowed by ruleset".
        assert_eq!(u64::from(ask_socks(&mut second, 1, address)), 2 * refused);
        let report = proxy.end();
        assert_eq!((report.refused.busy, report.best_effort), (refused, best_effort));
        drop(second.read(&mut [0]));
    }
}

#[test]
fn connections_that_are_opened_at_once_share_the_capacity() {
    let text = "capacity = '5M'\nbeyond = 'refuse'\n[[target]]\nrate = '4M'\n";
    let proxy = Proxy::start(Config { targets: targets(text), ..config() });
    let (address, silent) = silent();
    let (answer, answers) = std::sync::mpsc::channel();
    for _ in 0..2 {
        let (mut client, answer) = (proxy.connect(), answer.clone());
        std::thread::spawn(move || answer.send(ask_socks(&mut client, 1, address)));
    }
    // One of them waits for the server; the other finds no capacity, and so is the first to be
    // answered.
    assert_eq!(answers.recv(), Ok(2));
    // The server is gone, so that the next SYN is refused.
    drop(silent);
    assert_eq!(answers.recv(), Ok(5));
    let (address, _served) = server(FOUR, takes);
    let _third = proxy.socks(address);
    let report = proxy.end();
    assert_eq!((report.refused.busy, report.refused.unreachable, report.opened), (1, 1, 1));
}
