//! Emulations on a terminal: the live view and the shell, both under `script`, which provides a
//! pseudo-terminal. And a real-time priority, which programs do not inherit.

use super::{Ended, Site, machine_can};
use crate::common::skip;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// Runs the emulation on a terminal, and types `keys` once `word` is shown.
fn typed(site: Site, word: &str, keys: &[u8]) -> Ended {
    let words = site.command();
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy());
    let program = quoted(words.get_program());
    let line: Vec<String> = words.get_args().map(quoted).collect();
    let mut script = Command::new("script");
    // A terminal behind a pipe has no size, so nothing would be drawn.
    let command = format!("stty rows 30 cols 100; exec {program} {}", line.join(" "));
    script.args(["-qec", &command, "/dev/null"]);
    script.env("TERM", "xterm").env("SHELL", "/bin/sh").current_dir(&site.place);
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.spawn().expect("script starts");
    // It stays open, since `script` would end the terminal when it closes.
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = child.stdout.take().expect("a pipe");
    let (mut shown, mut piece, mut has_typed) = (Vec::new(), [0; 4096], false);
    loop {
        let length = output.read(&mut piece).expect("it can be read");
        if length == 0 {
            break;
        }
        shown.extend_from_slice(&piece[..length]);
        if !has_typed && String::from_utf8_lossy(&shown).contains(word) {
            input.write_all(keys).expect("it reads");
            has_typed = true;
        }
    }
    let code = child.wait().expect("it ends").code();
    let out = String::from_utf8_lossy(&shown).into_owned();
    Ended { place: site.place, code, out, err: String::new() }
}

/// Escape sequences for switching to the alternate screen, and back.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

#[test]
fn the_live_view_shows_nodes_and_lateness_until_q_and_gives_the_terminal_back() {
    if !machine_can() {
        return;
    }
    let site = Site::new("").with(&["--live", "--for", "60 s"]);
    let ended = typed(site, "server", b"q");
    ended.went_well();
    let [enter, leave] = [ENTER, LEAVE].map(|code| ended.out.find(code));
    assert!(enter.is_some() && enter < leave, "{}", ended.out);
    let shown = &ended.out[enter.unwrap_or(0)..leave.unwrap_or(0)];
    for word in ["sta1", "server", "lateness"] {
        assert!(shown.to_lowercase().contains(word), "{word}: {shown}");
    }
    let simulated = ended.summary()["simulated_ns"].as_u64().expect("a time");
    assert!(simulated < 60_000_000_000, "q ended it: {simulated}");
}

#[test]
fn a_shell_in_a_node_has_the_terminal_and_the_run_ends_with_it() {
    if !machine_can() {
        return;
    }
    let site = Site::new("").with(&["--shell", "sta1"]);
    let ended = typed(site, "# ", b"echo in $(hostname); busybox ping -4 -c 1 server; exit\n");
    ended.went_well();
    assert!(ended.out.contains("in sta1\r\n"), "{}", ended.out);
    assert!(ended.out.contains("64 bytes from 10.0.0.4"), "{}", ended.out);
}

#[test]
fn programs_do_not_inherit_the_priority_of_the_emulator() {
    let mut probe = Command::new("chrt");
    let may = probe.args(["-f", "10", "true"]).status().is_ok_and(|status| status.success());
    if !machine_can() {
        return;
    }
    if !may {
        skip("chrt may not give a real-time priority");
        return;
    }
    let site = Site::new("").exec("sta1=chrt -p $$");
    let words = site.command();
    let mut command = Command::new("chrt");
    command.args(["-f", "10"]).arg(words.get_program()).args(words.get_args());
    command.current_dir(&site.place);
    let ended = site.start_as(&mut command).end();
    ended.went_well();
    assert!(ended.log("sta1").contains("SCHED_OTHER"), "{}", ended.log("sta1"));
}
