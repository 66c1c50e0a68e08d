//! The systemd units: systemd accepts them, rates their exposure as low, and their commands parse.

use crate::common::{fairwave, scratch};
use crate::real::in_namespaces;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Path of the installed command.
const INSTALLED: &str = "/usr/bin/fairwave";
/// Maximum exposure that `systemd-analyze security` may find, in tenths of its scale of 10. A
/// transparent proxy sets up rules and sockets before it drops its privileges; a service that
/// shares an interface must be root.
fn exposure_most(unit: &Path) -> &'static str {
    let is = |name: &str| unit.ends_with(name);
    if is("fairwave-proxy.service") || is("fairwave-soc-ap.service") { "28" } else { "15" }
}

fn units() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
    let entries = fs::read_dir(directory).expect("packaging/systemd");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "service")).collect()
}

/// Runs `systemd-analyze` on a unit.
fn analyse(args: &[&str], unit: &Path) {
    let output = Command::new("systemd-analyze").args(args).arg(unit).output();
    let output = output.unwrap_or_else(|error| {
        panic!("systemd-analyze does not start ({error}); `cargo xtask test` installs it")
    });
    let [out, err] =
        [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    let unit = unit.display();
    assert!(output.status.success() && err.is_empty(), "{args:?} {unit}:\n{out}\n{err}");
}

#[test]
fn units_are_accepted_and_closed() {
    let place = scratch();
    assert!(!units().is_empty());
    for unit in units() {
        let text = fs::read_to_string(&unit).expect("a unit");
        assert!(text.contains(&format!("ExecStart={INSTALLED} ")), "{}", unit.display());
        // systemd checks that the command exists.
        let here = text.replace(INSTALLED, env!("CARGO_BIN_EXE_fairwave"));
        let copy = place.path().join(unit.file_name().expect("a name"));
        fs::write(&copy, here).expect("it is written");
        analyse(&["verify", "--man=no"], &copy);
        analyse(
            &["security", "--offline=true", "--threshold", exposure_most(&unit), "--no-pager"],
            &copy,
        );
    }
}

/// The command accepts the units' arguments. Their files of keys or targets do not exist here, so
/// the command must refuse these and nothing else.
#[test]
fn commands_of_units_take_their_arguments() {
    let place = scratch();
    for unit in units() {
        let text = fs::read_to_string(&unit).expect("a unit");
        let starts = text.lines().filter_map(|line| line.strip_prefix("ExecStart="));
        for start in starts {
            let directory = place.path().display().to_string();
            let start = start.replace("${CREDENTIALS_DIRECTORY}", &directory);
            let args: Vec<&str> = start.split(' ').skip(1).collect();
            let output = fairwave(place.path(), &args).output().expect("it starts");
            let err = String::from_utf8_lossy(&output.stderr).into_owned();
            let named = |file: &&str| start.contains(file);
            let key = format!("{directory}/key");
            let file = [&*key, "/etc/fairwave/targets.toml"].into_iter().find(named).expect("one");
            assert!(!output.status.success() && err.contains(file), "{start}: {err}");
        }
    }
}

/// A service without capabilities may not call `capset`, as the units of SHAKE say: both start all
/// the same, and the client reaches the server.
#[test]
fn both_ends_of_shake_start_with_the_system_calls_of_their_units() {
    let units = units();
    let of = |end: &str| {
        let name = format!("fairwave-shake-{end}.service");
        units.iter().find(|unit| unit.ends_with(&name)).expect("a unit").display().to_string()
    };
    let (server, client) = (of("serve"), of("connect"));
    let Some(codes) = in_namespaces("units.py", &[&server, &client]) else { return };
    assert_eq!(codes, serde_json::json!([0, 0]));
}
