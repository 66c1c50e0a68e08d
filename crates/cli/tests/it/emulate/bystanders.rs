//! An emulation leaves nothing behind, however it ends.

use super::{Site, machine_can};
use std::fs;
use std::process::Command;

/// Runs in its own namespaces, so that it does not see other activity on the machine. Processes,
/// interfaces and mounts are compared before and after; a zombie is one of them until it is reaped.
/// `/tmp` and `/run` are separate for the same reason: compilers and other tests make and remove
/// files in the machine's at any time, and the first `ip netns` makes `/run/netns`. Only the test's
/// directory and the command are visible from there.
pub(super) const AUDIT: &str = r#"
mount -t proc proc /proc
exec 8< "$PLACE" 9< "${BINARY%/*}"
mount -t tmpfs tmpfs /tmp && mkdir -p "$PLACE" "${BINARY%/*}" || exit 1
mount --no-canonicalize --bind /proc/self/fd/8 "$PLACE" || exit 1
mount --no-canonicalize --bind /proc/self/fd/9 "${BINARY%/*}" || exit 1
exec 8<&- 9<&-
mount -t tmpfs tmpfs /run || exit 1
cd "$PLACE"
snapshot() {
    for process in /proc/[0-9]*; do
        read -r name < $process/comm && echo "process $process $name"
    done
    while read -r line; do echo "mount $line"; done < /proc/self/mountinfo
    while read -r name rest; do echo "interface $name"; done < /proc/net/dev
    for file in /tmp/* /run/*; do echo "file $file"; done
}
same() {
    snapshot > "$PLACE/after" 2> /dev/null
    cmp -s "$PLACE/before" "$PLACE/after"
}
await() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || return 1
        sleep 0.05
    done
}
snapshot > "$PLACE/before" 2> /dev/null
scenario
echo "code $code" > "$PLACE/code"
await same || { diff "$PLACE/before" "$PLACE/after"; exit 1; }
"#;

/// Programs that ignore signals, one of them a daemon, and one that reports that they run.
const STUBBORN: &str = "sta1=trap '' TERM INT HUP; setsid sh -c 'trap \"\" TERM; sleep 1001' & \
    (setsid sleep 1002 &); echo ready; while :; do sleep 0.1; done";

/// A case: the use of the emulator in the audited shell, whose variable `code` is its exit code;
/// and the expected code.
struct Case {
    name: &'static str,
    script: &'static str,
    code: i32,
}

/// Starts an emulation with stubborn programs, and sends it a signal when they run.
macro_rules! signalled {
    ($signal:literal) => {
        concat!(
            "$EMULATE --exec \"$STUBBORN\" & emulator=$!\n",
            "await grep -qs ready out/programs/sta1.log\n",
            "kill -",
            $signal,
            " $emulator; wait $emulator; code=$?"
        )
    };
}

const CASES: [Case; 9] = [
    Case { name: "end", script: "$EMULATE --exec 'sta1=true'; code=$?", code: 0 },
    Case {
        name: "end of time",
        script: "$EMULATE --for '300 ms' --exec \"$STUBBORN\"; code=$?",
        code: 0,
    },
    Case { name: "interrupt", script: signalled!("INT"), code: 0 },
    Case { name: "terminate", script: signalled!("TERM"), code: 0 },
    Case { name: "kill", script: signalled!("KILL"), code: 137 },
    Case { name: "failing program", script: "$EMULATE --exec 'sta1=exit 3'; code=$?", code: 1 },
    Case { name: "unknown node", script: "$EMULATE --exec 'nobody=true'; code=$?", code: 2 },
    Case { name: "missing file", script: "$BINARY emulate no.toml --exec a=b; code=$?", code: 1 },
    Case { name: "no program", script: "$EMULATE --exec 'sta1=no-such'; code=$?", code: 1 },
];

/// Starts the shell that runs a case in namespaces of its own.
pub(super) fn audited(site: &Site, script: &str) -> Command {
    let words = |command: &Command| {
        let program = command.get_program().to_string_lossy().into_owned();
        let args = command.get_args().map(|arg| arg.to_string_lossy().into_owned());
        std::iter::once(program).chain(args).collect::<Vec<_>>()
    };
    let emulate = words(&site.command());
    let mut shell = Command::new("unshare");
    shell.args(["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork"]);
    shell.args(["sh", "-c", &format!("scenario() {{ {script}\n}}\n{AUDIT}")]);
    shell.env("EMULATE", emulate.join(" ")).env("BINARY", &emulate[0]);
    shell.env("STUBBORN", STUBBORN).env("PLACE", site.place.path()).current_dir(&site.place);
    shell
}

#[test]
fn nothing_is_left_however_it_ends() {
    if !machine_can() {
        return;
    }
    let start = |case: &Case| {
        let site = Site::new("");
        let mut shell = audited(&site, case.script);
        site.start_as(&mut shell)
    };
    let started: Vec<_> = CASES.iter().map(start).collect();
    for (case, started) in CASES.iter().zip(started) {
        let ended = started.end();
        let printed = format!("{}: {}\n{}", case.name, ended.out, ended.err);
        assert_eq!(ended.code, Some(0), "something is left after {printed}");
        let code = fs::read_to_string(ended.place.path().join("code")).expect("it was run");
        let late = case.code == 0 && code == "code 4\n";
        assert!(late || code == format!("code {}\n", case.code), "{code}{printed}");
        let is_signalled = ["interrupt", "terminate"].contains(&case.name);
        assert_eq!(ended.err.contains("the run was ended at"), is_signalled, "{printed}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_where_output_is() {
    if !machine_can() {
        return;
    }
    let failing = Site::new("").exec("sta1=echo oh; exit 3").exec("sta2=sleep 30").run();
    failing.failed();
    assert!(
        failing.err.contains("sta1: `echo oh; exit 3` failed with status 3"),
        "{}",
        failing.err
    );
    assert!(failing.err.contains("programs/sta1.log"), "{}", failing.err);
    let programs = &failing.summary()["programs"];
    assert_eq!((&programs[0]["failed"], &programs[0]["status"]), (&true.into(), &3.into()));
    assert_eq!(programs[1]["failed"], false, "that it was ended by the run is no failure");

    let unknown = Site::new("").exec("sta3=true").run();
    assert_eq!(unknown.code, Some(2));
    let names = "--exec: \"sta3\" is no real node; those are sta1, sta2, server";
    assert!(unknown.err.contains(names), "{}", unknown.err);
    assert!(!unknown.path("").exists(), "nothing was begun");

    let missing = Site::new("").exec("sta1=no-such-program").run();
    missing.failed();
    assert!(missing.log("sta1").contains("not found"), "{}", missing.log("sta1"));
    assert!(missing.err.contains("status 127"), "{}", missing.err);
}
