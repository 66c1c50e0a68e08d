//! Abilities of this machine that the tools need, each with a remedy where it is missing.

use crate::emulation::{NO_MPTCP, has_mptcp};
use crate::meter::Reference;
use fairwave_linux::radio::Radio;
use fairwave_linux::{Clock, Lack, Missing, may_become_realtime};
use fairwave_text::{BAD, GOOD, styled};
use fairwave_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;
use std::io::ErrorKind;

/// Maximum lateness of a timer at the 99th percentile on a machine that is suitable for real-time
/// measurements: that of `cargo xtask test --realtime`.
const LATE: Duration = Duration::from_millis(1);
/// Time for which a timer is observed.
const OBSERVED: Duration = Duration::from_millis(500);
/// Type information of the running kernel, to which the loader adapts BPF programs.
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
/// A type that exists in kernels whose congestion control algorithms can be BPF programs.
const STRUCT_OPS: &[u8] = b"bpf_struct_ops_tcp_congestion_ops";

/// The first version of Linux that the BPF programs run on: `docs/cc-linux.md`.
const BPF_SINCE: [u32; 2] = [6, 1];

/// Programs that Fairwave can use, and the purpose of each.
const PROGRAMS: [(&str, &str); 5] = [
    ("iperf3", "traffic of programs in `emulate`; records that `fairness show` reads"),
    ("tcpdump", "captures for `trace`"),
    ("tshark", "captures with the dissector of docs/wireshark"),
    ("hostapd", "an access point for `soc`"),
    ("ffmpeg", "video in `emulate`, as in its tutorial"),
];

/// An ability of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ability {
    /// Its name.
    pub name: String,
    /// Whether the machine has it, for the user who asks.
    pub present: bool,
    /// The commands that need it.
    pub purpose: String,
    /// The fault and its remedy; null if there is none.
    pub remedy: Option<String>,
}

/// Output of `fairwave doctor --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorOutput {
    /// The abilities, those of the simulator first. All commands that simulate work everywhere.
    pub abilities: Vec<Ability>,
}

impl DoctorOutput {
    /// Examines this machine without changing it. This takes half a second, since a timer is
    /// observed.
    pub fn examine() -> Self {
        let abilities = [
            ability("simulation", "`run`, `sweep`, `reproduce`, `plot`, `trace`", None),
            ability("network namespaces", "`emulate`, `matrix`, `packets`", namespaces()),
            ability(
                "administrator",
                "`soc`, `cc load`, `proxy --transparent`, `emulate` at interfaces of the machine",
                administrator(),
            ),
            ability("real-time priority", "`emulate --realtime`", priority()),
            ability("punctual timers", "valid emulations, tests in real time", timers()),
            ability("BPF congestion control", "`cc`, `emulate --windows`", kernel_types()),
            ability("MPTCP", "multipath flows on sockets in `emulate`", mptcp()),
            ability("nl80211", "`soc`, signals in `fairness`", nl80211()),
        ];
        let programs = PROGRAMS.iter().map(|(name, purpose)| ability(name, purpose, program(name)));
        Self { abilities: abilities.into_iter().chain(programs).collect() }
    }

    /// Returns a line for each ability, and another with the remedy if it is missing.
    pub fn text(&self) -> String {
        let widths = self.abilities.iter().map(|ability| ability.name.len());
        let width = widths.max().unwrap_or(0);
        let line = |ability: &Ability| {
            let (style, word) = if ability.present { (GOOD, "yes") } else { (BAD, "no ") };
            let remedy = ability.remedy.iter().map(|remedy| format!("     {remedy}\n"));
            let (word, name, purpose) = (styled(style, word), &ability.name, &ability.purpose);
            format!("{word}  {name:<width$}  {purpose}\n{}", remedy.collect::<String>())
        };
        self.abilities.iter().map(line).collect()
    }
}

fn ability(name: &str, purpose: &str, remedy: Option<String>) -> Ability {
    let (name, purpose) = (name.to_owned(), purpose.to_owned());
    Ability { name, present: remedy.is_none(), purpose, remedy }
}

fn namespaces() -> Option<String> {
    Some(remedies(&fairwave_netns::support().err()?))
}

fn remedies(Missing(lacks): &Missing) -> String {
    let lacks = lacks.iter().map(|Lack { what, remedy }| format!("without {what}: {remedy}"));
    lacks.collect::<Vec<_>>().join("; ")
}

fn administrator() -> Option<String> {
    let text = "without CAP_SYS_ADMIN and CAP_NET_ADMIN: run as root (sudo)";
    (!fairwave_netns::is_administrator()).then(|| text.to_owned())
}

fn priority() -> Option<String> {
    let refused = may_become_realtime().err()?;
    Some(format!("{refused}: run as root, or raise the limit `ulimit -r`"))
}

/// Measures the lateness of a timer while nothing is emulated.
fn timers() -> Option<String> {
    let Some(reference) = Reference::start() else { return Some("no thread to measure".into()) };
    let clock = Clock::start();
    clock.sleep_until(clock.now() + OBSERVED);
    let late_ms = reference.lateness().p99.as_secs_f64() * 1e3;
    (late_ms > LATE.as_secs_f64() * 1e3).then(|| {
        format!(
            "{late_ms:.2} ms late at the 99th percentile: end other programs, or use a machine \
                 that shares no processor"
        )
    })
}

fn kernel_types() -> Option<String> {
    if !cfg!(feature = "kernel-cc") {
        return Some("this program is built without it: build with --features kernel-cc".into());
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if is_before(&release, BPF_SINCE) {
        let [major, minor] = BPF_SINCE;
        return Some(format!("Linux {}: needs {major}.{minor} or later", release.trim()));
    }
    let Ok(types) = fs::read(KERNEL_TYPES) else {
        return Some(format!("no {KERNEL_TYPES}: a kernel with CONFIG_DEBUG_INFO_BTF"));
    };
    let has = types.windows(STRUCT_OPS.len()).any(|name| name == STRUCT_OPS);
    (!has).then(|| "no struct_ops for TCP: a kernel with CONFIG_BPF_JIT".to_owned())
}

/// Whether a kernel's release, such as `6.1.0-18-amd64`, is before a version. One that does not
/// begin with a version is not.
fn is_before(release: &str, version: [u32; 2]) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse().ok());
    let found = numbers.next().zip(numbers.next());
    found.is_some_and(|(major, minor)| [major, minor] < version)
}

fn mptcp() -> Option<String> {
    (!has_mptcp()).then(|| NO_MPTCP.to_owned())
}

fn nl80211() -> Option<String> {
    let fault = match Radio::open().err()? {
        error if error.kind() == ErrorKind::NotFound => "no nl80211 in the kernel".to_owned(),
        error => error.to_string(),
    };
    Some(format!("{fault}: load the radio's driver, or mac80211_hwsim for simulated radios"))
}

fn program(name: &str) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|directory| directory.join(name).is_file());
    (!is_there).then(|| format!("not in PATH: install the package {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_ability_has_a_remedy() {
        let found = DoctorOutput::examine();
        assert!(found.abilities.iter().all(|one| one.present == one.remedy.is_none()), "{found:?}");
        assert!(found.abilities[0].present, "simulation works everywhere");
    }

    /// `fairwave doctor` printed "no the device /dev/net/tun".
    #[test]
    fn a_lack_with_an_article_is_named_in_a_phrase() {
        let lack = |what: &str, remedy: &str| Lack { what: what.into(), remedy: remedy.into() };
        let lacks = vec![lack("the device /dev/net/tun", "load it"), lack("netlink", "allow it")];
        let expected = "without the device /dev/net/tun: load it; without netlink: allow it";
        assert_eq!(remedies(&Missing(lacks)), expected);
    }

    /// Linux 5.10 has struct_ops for TCP, but not the helpers of the algorithms: doctor said "yes".
    #[test]
    fn kernels_before_6_1_are_too_old_for_the_algorithms() {
        let old = ["5.10.0-28-amd64\n", "5.15.0", "6.0.19-arch1", "4.19"];
        let new = ["6.1.0-18-amd64\n", "6.1", "6.12.3", "7.0.0-rc1", "10.1.2", "", "unknown"];
        assert!(old.iter().all(|release| is_before(release, BPF_SINCE)));
        assert!(!new.iter().any(|release| is_before(release, BPF_SINCE)));
    }

    #[test]
    fn a_remedy_stands_below_its_ability() {
        let abilities = vec![
            ability("simulation", "`run`", None),
            ability("tun", "`emulate`", Some("no device: load it".to_owned())),
        ];
        let text = DoctorOutput { abilities }.text();
        let text = anstream::adapter::strip_str(&text).to_string();
        let expected =
            "yes  simulation  `run`\nno   tun         `emulate`\n     no device: load it\n";
        assert_eq!(text, expected);
    }
}
