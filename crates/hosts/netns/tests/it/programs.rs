//! Programs in nodes.

use crate::{await_end, build, can, output, start};
use fairwave_netns::{Invocation, ProgramPlan};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

fn null() -> File {
    File::create("/dev/null").unwrap()
}

#[test]
fn a_program_has_its_variables_its_output_and_its_exit_code() {
    if !can() {
        return;
    }
    let namespaces = build();
    let line = "echo $GREETING from $FAIRWAVE_NODE; echo and errors >&2";
    assert_eq!(output(&namespaces, 1, line), "hello from server\nand errors\n");
    let program = start(&namespaces, 1, "exit 7", &null());
    await_end(&program);
    assert_eq!(program.try_wait().unwrap().unwrap().code(), Some(7));
}

#[test]
fn a_program_that_is_asked_to_end_may_do_it_well() {
    if !can() {
        return;
    }
    let namespaces = build();
    let program = start(&namespaces, 0, "exec busybox sleep 1000", &null());
    assert!(program.try_wait().unwrap().is_none());
    let ended = program.terminate(Duration::from_secs(20)).unwrap();
    assert_eq!(ended.signal(), Some(15));
}

#[test]
fn a_program_that_ignores_sigterm_is_killed_after_its_grace() {
    if !can() {
        return;
    }
    let namespaces = build();
    let (reader, writer) = std::io::pipe().unwrap();
    let line = "trap '' TERM; echo set; while :; do busybox sleep 1000; done";
    let program = start(&namespaces, 0, line, &File::from(std::os::fd::OwnedFd::from(writer)));
    // Only then is the signal ignored.
    std::io::Read::read_exact(&mut &reader, &mut [0; 4]).unwrap();
    let ended = program.terminate(Duration::from_millis(50)).unwrap();
    assert_eq!(ended.signal(), Some(9));
}

#[test]
fn a_program_that_is_not_there_is_named() {
    if !can() {
        return;
    }
    let namespaces = build();
    let invocation = Invocation::Arguments(vec!["no-such-program".into(), "-x".into()]);
    let plan = ProgramPlan { invocation, output: null(), environment: Vec::new(), directory: None };
    let error = namespaces.spawn(1, plan).unwrap_err().to_string();
    assert!(error.starts_with("server: `no-such-program -x`: No such file"), "{error}");
}

#[test]
fn namespaces_end_programs_whose_handles_are_still_held() {
    if !can() {
        return;
    }
    let namespaces = build();
    let program = start(&namespaces, 0, "exec busybox sleep 1000", &null());
    drop(namespaces);
    assert_eq!(program.kill().unwrap().signal(), Some(9));
}
