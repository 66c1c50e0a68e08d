//! The files for OpenWrt: what procd would start from a configuration is what the agent takes.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

/// The functions of OpenWrt that the script calls, with a configuration of two sections; a line for
/// each instance that procd would start.
const ROUTER: &str = r#"
config_load() { :; }
config_foreach() { "$1" "$2_section"; }
config_get_bool() { eval "$1=1"; [ "$3" = enabled ] || [ "$2" != station_section ] || eval "$1=0"; }
config_get() { eval "$1=\$$3"; [ "$2:$3" != station_section:frame ] || eval "$1=sealed"; }
config_list_foreach() { [ "$2" = policy_for ] && for one in $policy_for; do "$3" "$one"; done; }
procd_open_instance() { line=; }
procd_set_param() { [ "$1" = command ] && { shift 2; for word; do line="$line$word	"; done; }; }
procd_append_param() { shift; for word; do line="$line$word	"; done; }
procd_close_instance() { echo "$line"; }
interface=fw-none key=$1 rate='20 Mbps' policy=pw policy_for='voice=equal tcp=gb1' udp='[::]:9437'
actuator=htb log="$1.log" interval='200 ms' snr=25 to=192.168.1.1
hostapd=/var/run/hostapd/fw-none step=0.02 pace='50 ms' queue=50 filter=median snr_from=
frame=plain plain_interval='1 s' leaf=fifo overhead=38 beta=0.5 smoothing=0.4
. "$2"
start_service
"#;

#[test]
fn the_agent_takes_what_the_init_script_gives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let place = tempfile::tempdir().unwrap();
    let key = place.path().join("key");
    std::fs::write(&key, format!("{}=\n", "A".repeat(43))).unwrap();
    let init = root.join("packaging/openwrt/files/fairwave-agent.init");
    let mut shell = Command::new("sh");
    let output = shell.args(["-uc", ROUTER, "sh"]).arg(&key).arg(init).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.trim_end().split('\t').collect()).collect();
    assert_eq!([lines[0][0], lines[1][0]], ["ap", "station"]);
    for words in [
        ["--policy-for", "tcp=gb1"],
        ["--udp", "[::]:9437"],
        ["--rate", "20 Mbps"],
        ["--actuator", "htb"],
        ["--hostapd", "/var/run/hostapd/fw-none"],
        ["--step", "0.02"],
        ["--pace", "50 ms"],
        ["--queue", "50"],
        ["--leaf", "fifo"],
        ["--overhead", "38"],
        ["--beta", "0.5"],
        ["--smoothing", "0.4"],
        ["--plain-interval", "1 s"],
    ] {
        assert!(lines[0].windows(2).any(|two| two == words), "{:?}", lines[0]);
    }
    for words in [["--to", "192.168.1.1"], ["--filter", "median"]] {
        assert!(lines[1].windows(2).any(|two| two == words), "{:?}", lines[1]);
    }
    for line in lines {
        let frame = if line[0] == "ap" { "plain" } else { "sealed" };
        assert!(line.windows(2).any(|two| two == ["--frame", frame]), "{line:?}");
        for switch in ["--unauthenticated", "--piggyback"] {
            assert_eq!(line.contains(&switch), line[0] == "ap", "{line:?}");
        }
        let output =
            Command::new(env!("CARGO_BIN_EXE_fairwave-agent")).args(&line).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        // The options are right; there is no such interface.
        assert_eq!(output.status.code(), Some(1), "{line:?}: {err}");
        assert!(err.contains("fw-none"), "{line:?}: {err}");
    }
}
