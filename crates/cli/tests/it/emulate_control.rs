//! Emulations that are controlled while they run, and replayed afterwards.

use crate::common::{ends_with, fairwave, scratch, skip};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Sends a datagram every 5 ms without waiting for answers.
const SENDER: &str = "sta2@0.2s=python3 -c \"import itertools,socket,time
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)
for i in itertools.count():
 s.sendto(b'payload %d ' % i * 40, ('server', 4000)); time.sleep(.005)\"";

/// A program that receives them, and creates the file `arrived` after the first.
fn receiver(arrived: &Path) -> String {
    let arrived = arrived.display();
    format!(
        "server=python3 -c \"import socket
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)
s.bind(('',4000))
s.recv(9999)
open('{arrived}','w').close()
while True: s.recv(9999)\""
    )
}

fn skipped() -> bool {
    let why = fairwave_netns::support().err();
    if let Some(why) = &why {
        skip(why);
    }
    why.is_some()
}

#[expect(clippy::disallowed_methods, reason = "an emulation takes its time")]
fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

fn home() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/steered-home.toml");
    path.display().to_string()
}

/// Starts an emulation in `DIR/run`, without a load that makes it late, and waits for its socket.
fn begin(directory: &Path, more: &[&str]) -> Child {
    let home = home();
    let punctual = ["--set", "emulate.lateness_limit=1 s", "--quiet", "--out", "run"];
    let args = [&["emulate", &home][..], &punctual, more].concat();
    let mut command = fairwave(directory, &args);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = child.spawn().expect("it starts");
    while !directory.join("run/control.sock").exists() {
        assert_eq!(child.try_wait().expect("it can be asked"), None, "it ended early");
        pause(10);
    }
    child
}

/// Waits for its end. Returns its standard error.
fn end(child: Child, code: i32) -> String {
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{err}");
    err
}

fn control(directory: &Path, args: &[&str]) -> Value {
    let all = [&["emulate", "ctl", "run"][..], args].concat();
    let (out, err) = ends_with(0, directory, &all);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out} {err}"))
}

fn connect(directory: &Path) -> UnixStream {
    let stream = UnixStream::connect(directory.join("run/control.sock")).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    stream
}

/// The answer to these bytes, if there is one.
fn answer(mut stream: &UnixStream, bytes: &[u8]) -> String {
    let _ = stream.write_all(bytes);
    let mut line = String::new();
    let _ = BufReader::new(stream).read_line(&mut line);
    line
}

/// The first state of the run that fulfils the condition. Asks repeatedly, also while there is no
/// place for another client.
fn until(directory: &Path, is_wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let printed = answer(&connect(directory), b"{\"status\": {}}\n");
        match serde_json::from_str(&printed) {
            Ok(state) if is_wanted(&state) => return state,
            _ => std::thread::yield_now(),
        }
    }
}

fn bytes(directory: &Path, run: &str, name: &str) -> Vec<u8> {
    let path: PathBuf = directory.join(run).join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Emulates with packets of programs and with controls, recorded. The run is stopped when all
/// controls have been carried out and a packet has arrived, since a busy machine needs long to
/// start each command.
fn record(directory: &Path) {
    let arrived = directory.join("arrived");
    let receiver = receiver(&arrived);
    let more = ["--for", "60 s", "--record", "--pcap", "--exec", &receiver, "--exec", SENDER];
    let child = begin(directory, &more);
    control(directory, &["link", "name=ap-server", "rate=2 Mbps", "loss=0.1"]);
    control(directory, &["move", "node=sta2", "to=[\"15 m\", \"0 m\"]"]);
    control(directory, &["queue", "at=ap>server", "discipline=fq-codel"]);
    let removed = control(directory, &["remove", "node=sta1"])["at_ns"].as_u64();
    let later = removed.expect("it says when") + 200_000_000;
    until(directory, |state| state["at_ns"].as_u64() >= Some(later));
    let restored = control(directory, &["restore", "node=sta1"])["at_ns"].as_u64();
    let later = restored.expect("it reports a time") + 500_000_000;
    until(directory, |state| state["at_ns"].as_u64() >= Some(later) && arrived.exists());
    assert_eq!(control(directory, &["stop"])["ok"], true);
    end(child, 0);
}

#[test]
fn a_replay_is_the_same_run_byte_for_byte() {
    if skipped() {
        return;
    }
    let place = scratch();
    let directory = place.path();
    record(directory);
    ends_with(0, directory, &["run", "--replay", "run", "--quiet", "--out", "again"]);
    for name in ["queues", "stations", "drops", "flows", "associations"] {
        let name = format!("{name}.parquet");
        let same = bytes(directory, "run", &name) == bytes(directory, "again", &name);
        assert!(same, "{name} differs");
    }
    let capture = "capture.pcapng";
    let (first, again) = (bytes(directory, "run", capture), bytes(directory, "again", capture));
    assert!(first == again, "captures differ");
    // The number of them that a busy machine sends before the end of the run does not matter.
    assert!(again.windows(8).any(|part| part == b"payload "), "the real payload is there");
    assert!(!directory.join("run/control.sock").exists());

    // Another queue, and packets at a node that was not tapped.
    let other = ["--set", "link.ap-server.queue=2 packets", "--tap", "server", "--out", "other"];
    ends_with(0, directory, &[&["run", "--replay", "run", "--quiet"][..], &other].concat());
    assert!(
        bytes(directory, "other", "queues.parquet") != bytes(directory, "run", "queues.parquet")
    );
    let tapped = fs::read_dir(directory.join("other")).expect("it is there").flatten();
    let is_tap = |name: &str| name.contains("server") && name.ends_with(".pcapng");
    assert!(tapped.into_iter().any(|file| is_tap(&file.file_name().to_string_lossy())));
}

#[test]
fn a_record_that_is_missing_or_cut_is_said_to_be() {
    if skipped() {
        return;
    }
    let place = scratch();
    let directory = place.path();
    record(directory);
    let record = directory.join("run/packets.fwin");
    let whole = fs::read(&record).expect("it is there");
    fs::write(&record, &whole[..whole.len() / 2]).expect("it can be written");
    let replay = ["run", "--replay", "run", "--quiet", "--out"];
    let (_, err) = ends_with(0, directory, &[&replay[..], &["cut"]].concat());
    assert!(err.contains("cut after"), "{err}");
    fs::write(&record, "nonsense").expect("it can be written");
    let (_, err) = ends_with(1, directory, &[&replay[..], &["alien"]].concat());
    assert!(err.contains("no record of an emulated run"), "{err}");
    fs::remove_file(&record).expect("it can be removed");
    let (_, err) = ends_with(1, directory, &[&replay[..], &["none"]].concat());
    assert!(err.contains("emulate with --record"), "{err}");
}

#[test]
fn a_run_that_was_changed_is_not_compared_with_a_simulation() {
    if skipped() {
        return;
    }
    let place = scratch();
    let child = begin(place.path(), &["--for", "5 s", "--beside-simulation"]);
    control(place.path(), &["link", "name=ap-server", "loss=0.1"]);
    let err = end(child, 0);
    let printed = "the run was changed by `emulate ctl`: there is nothing to compare this run with";
    assert!(err.contains(printed), "{err}");
}

/// The second run takes the place of the first.
#[test]
fn a_run_without_a_record_leaves_none_of_an_earlier_run() {
    if skipped() {
        return;
    }
    let place = scratch();
    let directory = place.path();
    for (more, is_recorded) in [(&["--record"][..], true), (&["--force"], false)] {
        end(begin(directory, &[&["--for", "1 s"][..], more].concat()), 0);
        assert_eq!(directory.join("run/packets.fwin").exists(), is_recorded);
    }
}

#[test]
fn nobody_can_hold_up_a_run_by_its_socket() {
    if skipped() {
        return;
    }
    let place = scratch();
    let directory = place.path();
    let child = begin(directory, &["--for", "60 s"]);
    let mode = fs::metadata(directory.join("run/control.sock")).expect("it is there");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    for line in [&b"\n"[..], b"\xff\xfe\n", b"[[[[\n", b"{\"move\": null}\n", b"{\"stop\"\n"] {
        let printed = answer(&connect(directory), line);
        assert!(printed.starts_with("{\"error\":"), "{printed}");
    }
    let printed = answer(&connect(directory), &vec![b'x'; 20_000]);
    assert!(printed.contains("at most"), "{printed}");
    // Silent clients may only use up the places of other clients.
    let silent: Vec<UnixStream> = (0..40).map(|_| connect(directory)).collect();
    let refused = silent.iter().rev().take(5).filter(|stream| {
        let (mut stream, mut printed) = (*stream, [0; 64]);
        let count = stream.read(&mut printed).unwrap_or(0);
        printed[..count].windows(8).any(|part| part == b"too many")
    });
    assert_eq!(refused.count(), 5);
    drop(silent);
    until(directory, |state| state["lateness"]["count"].as_u64() > Some(0));
    let status = control(directory, &["status"]);
    assert_eq!(status["nodes"][0]["name"], "sta1");
    assert!(status["lateness"]["count"].as_u64() > Some(0), "{status}");
    assert!(status["queues"].as_array().is_some_and(|queues| queues.len() == 5), "{status}");
    let (_, err) = ends_with(1, directory, &["emulate", "ctl", "run", "link", "name=ap-servr"]);
    assert!(err.contains("did you mean \"ap-server\"?"), "{err}");
    let (_, err) = ends_with(1, directory, &["emulate", "ctl", "run", "stauts"]);
    assert!(err.contains("stauts: no change is called so"), "{err}");
    assert!(err.contains("beside changes there are status and stop"), "{err}");
    assert_eq!(control(directory, &["stop"])["ok"], true);
    end(child, 0);
    let (_, err) = ends_with(1, directory, &["emulate", "ctl", "run", "status"]);
    assert!(err.contains("no emulation runs"), "{err}");
}

#[test]
fn a_flood_and_deep_nesting_hold_up_neither_the_run_nor_its_end() {
    if skipped() {
        return;
    }
    let place = scratch();
    let directory = place.path();
    let child = begin(directory, &["--for", "60 s"]);
    let deep = |left: &str, middle: &str, right: &str| {
        let depth = 2000;
        format!("{}{middle}{}\n", left.repeat(depth), right.repeat(depth))
    };
    let in_move = format!("{{\"move\": {}}}\n", deep("[", "", "]").trim_end());
    for line in [deep("[", "", "]"), deep("{\"a\":", "1", "}"), in_move] {
        let printed = answer(&connect(directory), line.as_bytes());
        assert!(printed.starts_with("{\"error\":") && printed.len() < 300, "{printed}");
    }
    // Clients that send requests and never read, until their requests are no longer accepted.
    let floods: Vec<UnixStream> = (0..3).map(|_| connect(directory)).collect();
    for flood in &floods {
        flood.set_write_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        let mut flood = flood;
        while flood.write(&b"{\"status\": {}}\n".repeat(50)).is_ok() {}
    }
    let before = control(directory, &["status"])["lateness"]["count"].as_u64();
    until(directory, |state| state["lateness"]["count"].as_u64() > before);
    assert_eq!(control(directory, &["stop"])["ok"], true);
    end(child, 0);
    drop(floods);
}

/// The user without privileges.
const NOBODY: &str = "65534";

#[test]
fn another_user_may_not_control_a_run() {
    if skipped() {
        return;
    }
    let place = scratch();
    let directory = place.path();
    if fs::metadata(directory).is_ok_and(|own| own.uid() != 0) {
        skip("only root may become another user");
        return;
    }
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let child = begin(directory, &["--for", "60 s"]);
    let ask = fairwave(directory, &["emulate", "ctl", "run", "stop"]);
    let mut lowered = Command::new("setpriv");
    lowered.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]);
    lowered.arg(ask.get_program()).args(ask.get_args()).current_dir(directory);
    let refused = lowered.output().expect("setpriv starts");
    let err = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{err}");
    assert!(err.contains("only the user who started the emulation may control it"), "{err}");
    assert_eq!(control(directory, &["stop"])["ok"], true, "it runs still");
    end(child, 0);
}

#[test]
fn a_run_ends_with_its_shell() {
    if skipped() {
        return;
    }
    let place = scratch();
    let directory = place.path();
    let home = home();
    let args = ["emulate", &home, "--shell", "sta2", "--set", "emulate.lateness_limit=1 s"];
    let mut command = fairwave(directory, &[&args[..], &["--quiet", "--out", "run"]].concat());
    command.env("SHELL", "/bin/sh").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut typed = child.stdin.take().expect("it is piped");
    typed.write_all(b"echo in $FAIRWAVE_NODE\nexit 3\n").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(out.contains("in sta2\n"), "{out}");
    let (_, err) = ends_with(2, directory, &["emulate", &home, "--shell", "ap"]);
    assert!(err.contains("no real node"), "{err}");
}

#[test]
fn a_real_time_loop_has_usual_programs() {
    if skipped() {
        return;
    }
    let place = scratch();
    let directory = place.path();
    // The 41st field of the kernel's status is the scheduling policy: 0 is normal, 1 is SCHED_FIFO.
    let look = "sta2@0.1s=cut -d' ' -f41 /proc/self/stat";
    let child = begin(directory, &["--for", "3 s", "--realtime", "--exec", look]);
    let process = child.id();
    until(directory, |state| state["at_ns"].as_u64() > Some(0));
    let main = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let policy = main.split(' ').nth(40).map(str::to_owned);
    let err = end(child, 0);
    let is_refused = err.contains("--realtime was not permitted");
    assert_eq!(policy.as_deref(), Some(if is_refused { "0" } else { "1" }), "{err}");
    assert_eq!(bytes(directory, "run", "programs/sta2.log"), b"0\n");
}
