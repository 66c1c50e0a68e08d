//! Whole runs: a process of their own, which ends in every way that there is.

use crate::{RUNNER, can};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

/// Shows a TUN device that everybody may open, as udev makes it, whatever this machine's is.
const OPEN_TUN: &str = "mount -t tmpfs t /mnt && mknod -m 666 /mnt/tun c 10 200 && \
    mount --bind /mnt/tun /dev/net/tun && exec \"$@\"";

/// The user `nobody` of all distributions.
const NOBODY: &str = "65534";

/// A command in namespaces of the test's own: nothing of this machine is touched, nobody else's
/// doings are seen. The command is init of a PID namespace.
fn apart(words: &[&str]) -> Output {
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command.args(["sh", "-c", OPEN_TUN, "sh"]).args(words).output().unwrap()
}

fn assert_good(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}\n{errors}", output.status);
    text
}

/// A copy of the runner where every user can start it.
fn for_everybody() -> (tempfile::TempDir, String) {
    // An audit sees a `/tmp` of its own.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let copy = folder.path().join("netns-run");
    fs::copy(RUNNER, &copy).unwrap();
    for path in [folder.path(), &copy] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let copy = copy.to_str().unwrap().to_owned();
    (folder, copy)
}

fn audit(ending: &str) {
    if can() {
        let text = assert_good(&apart(&[RUNNER, "audit", ending]));
        assert!(text.contains("none left"), "{text}");
    }
}

fn audit_as_nobody(ending: &str) {
    if can() {
        let (_folder, runner) = for_everybody();
        let text = assert_good(&apart(&[&runner, "audit-as", NOBODY, ending]));
        assert!(text.contains("none left"), "{text}");
    }
}

#[test]
fn nodes_reach_each_other_by_name_and_over_both_versions_of_ip() {
    if can() {
        let text = assert_good(&Command::new(RUNNER).arg("ping").output().unwrap());
        assert!(text.starts_with("Root\n"), "{text}");
        assert!(text.contains("\nsta1\n") && text.ends_with("fw0\nlo\n"), "{text}");
    }
}

#[test]
fn nobody_needs_no_privileges() {
    if can() {
        let (_folder, runner) = for_everybody();
        let user = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"];
        let text = assert_good(&apart(&[&user[..], &[&runner, "ping"]].concat()));
        assert!(text.starts_with("Inside\n"), "{text}");
        // The processes of the run are seen, and no others: keeper, shell and ps.
        let (_, processes) = text.split_once("PID   COMMAND\n").unwrap();
        let processes: Vec<&str> = processes.lines().filter(|line| line.starts_with(' ')).collect();
        assert!(processes[0].ends_with("fairwave-keeper keep-namespaces"), "{text}");
        assert_eq!(processes.len(), 3, "{text}");
    }
}

#[test]
fn a_user_who_may_not_open_the_tun_device_is_told_what_to_do() {
    if can() {
        let (_folder, runner) = for_everybody();
        let mut command = Command::new("unshare");
        let closed = "mount -t tmpfs t /mnt && mknod -m 600 /mnt/tun c 10 200 && \
            mount --bind /mnt/tun /dev/net/tun && exec \"$@\"";
        command.args(["--mount", "sh", "-c", closed, "sh", "setpriv", "--reuid", NOBODY]);
        command.args(["--regid", NOBODY, "--clear-groups", &runner, "support"]);
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let reported = "permission to open /dev/net/tun\n    sudo chmod 0666 /dev/net/tun";
        assert!(text.contains(reported), "{text}");
    }
}

#[test]
fn nothing_is_left_after_a_normal_end() {
    audit("exit");
}

#[test]
fn nothing_is_left_after_an_error() {
    audit("error");
    audit("build-error");
}

#[test]
fn nothing_is_left_after_a_panic() {
    audit("panic");
}

#[test]
fn nothing_is_left_after_ctrl_c_and_sigterm() {
    audit("interrupt");
    audit("terminate");
}

#[test]
fn nothing_is_left_after_sigkill() {
    audit("kill");
}

#[test]
fn nothing_of_an_unprivileged_run_is_left() {
    audit_as_nobody("exit");
    audit_as_nobody("panic");
    audit_as_nobody("interrupt");
    audit_as_nobody("kill");
}

#[test]
fn descriptors_threads_and_memory_stay_bounded() {
    if can() {
        assert_good(&Command::new(RUNNER).args(["loop", "20"]).output().unwrap());
    }
}

#[test]
#[ignore = "half a minute: cargo test -p fairwave-netns --test it -- slow --ignored"]
fn slow_400_runs_in_a_row_leave_nothing() {
    if can() {
        let text = assert_good(&apart(&[RUNNER, "loop", "400"]));
        assert!(text.contains("after 400 runs"), "{text}");
    }
}

#[test]
fn an_uplink_leads_out_and_the_machine_is_restored_after_sigkill_too() {
    if can() {
        let text = assert_good(&apart(&[RUNNER, "uplink"]));
        assert!(text.contains("oif \"wan0\" masquerade"), "{text}");
    }
}

/// As Docker does when it starts: what arrived for its containers was dropped after the run.
#[test]
fn forwarding_that_others_switch_on_meanwhile_stays_on() {
    if can() {
        assert_good(&apart(&[RUNNER, "uplink-switched"]));
    }
}

#[test]
fn an_uplink_that_is_renamed_stops_forwarding_after_the_run() {
    if can() {
        assert_good(&apart(&[RUNNER, "uplink-renamed"]));
    }
}

#[test]
fn runs_with_the_same_uplink_do_not_end_it_for_each_other() {
    if can() {
        for ending in ["returns", "terminate", "kill"] {
            assert_good(&apart(&[RUNNER, "uplink-shared", ending]));
        }
    }
}

#[test]
fn frames_pass_between_two_interfaces_until_one_is_deleted() {
    if can() {
        let text = assert_good(&apart(&[RUNNER, "between"]));
        assert!(text.contains(" 0% packet loss"), "{text}");
        assert!(text.contains("interface `e0` is gone"), "{text}");
    }
}

#[test]
fn a_shell_has_a_terminal_and_job_control() {
    if !can() {
        return;
    }
    let command = format!("{RUNNER} shell 'exec sh -i'");
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &command, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = terminal.spawn().unwrap();
    // The shell says when it does not find itself in its terminal's foreground.
    let lines = "busybox hostname; tty; busybox sleep 0 & wait; exit 3\n";
    child.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    let text = assert_good(&child.wait_with_output().unwrap());
    assert!(text.contains("sta1\r\n/dev/pts/"), "{text}");
    assert!(text.contains("shell: exit status: 3"), "{text}");
    assert!(!text.contains("job control") && !text.contains("process group"), "{text}");
}

#[test]
fn an_interface_is_shared_by_classes_and_restored() {
    if !can() {
        return;
    }
    let output = Command::new("unshare").args(["--net", RUNNER, "shape"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let classes = |text: &str| text.matches("class htb 5343:").count();
    let (whole, without) = text.split_once("without a: ").unwrap();
    assert_eq!((classes(whole), classes(without)), (4, 3), "{text}");
    assert!(whole.contains("match 00000101/ffffffff at -12"), "{text}");
    assert!(without.contains("refused: interface `lo` has the qdisc htb 5343:"), "{text}");
}

#[test]
fn the_keeper_is_not_started_by_hand() {
    let output = Command::new(RUNNER).arg(fairwave_netns::keeper::COMMAND).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not by hand"));
}
