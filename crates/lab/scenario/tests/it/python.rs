//! A Python of this machine; shared with the tests of `fairwave-cli`.

use std::io::Write;
use std::process::{Command, Stdio};

/// What `script` prints for `input`, by the first Python that can import `modules`: the one found
/// first, or that of the system. `cargo xtask test` installs what is missing.
pub(crate) fn answer(modules: &str, script: &str, input: &str) -> String {
    let has_them = |python: &&str| {
        let output = Command::new(python).args(["-c", &format!("import {modules}")]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let python = ["python3", "/usr/bin/python3"].into_iter().find(has_them);
    let python = python.unwrap_or_else(|| panic!("no python3 from 3.11 on has {modules}"));
    let mut child = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "python3 ended with {}", output.status);
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}
