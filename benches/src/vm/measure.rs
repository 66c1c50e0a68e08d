//! `cargo xtask vm measure`: results of `fairwave fairness` and `fairwave probe` over the simulated
//! radios of Debian's kernel 6.1, and while the wall clock steps. No test may step the clock of the
//! machine on which it runs.

use super::guest::{Guest, WITH_RADIOS};
use super::soc::{PACKAGES, RADIOS, write_page};
use xtask::shell::{Outcome, cargo, run_aside};
use xtask::workspace;

/// The guest's script, and the beginning of its lines for the page.
const GUEST: &str = include_str!("measure.sh");
const MARK: &str = "MEASURE ";
/// Beginning of the page.
const HEAD: &str = "# Measuring over radios, and while the clock steps, in a guest

Made by `cargo xtask vm measure`, which boots Debian's kernel in QEMU without hardware's help. The
radios are those of `mac80211_hwsim` with WPA2: there is no propagation, so a signal is what the
sender's power makes it. The command fails if the signal that `fairwave fairness`
([docs/fairness.md](../../docs/fairness.md)) tells is not that of `iw`, if steps of the wall clock
falsify it or `fairwave probe` ([docs/probe.md](../../docs/probe.md)), or if `fairwave proxy`
([docs/proxy.md](../../docs/proxy.md)) does not carry so many connections, for which the guest's
root may raise the limit of open files.
";
const PROGRAMS: [&str; 5] = ["ip", "hostapd", "wpa_supplicant", "iw", "tc"];
const MODULES: [&str; 2] = ["net/sched/sch_tbf", "drivers/net/veth"];
/// Scripts that make networks and probe through them, and the probed link. It is slow enough for an
/// emulated processor beside other work.
const NET: &str = include_str!("../../../crates/cli/tests/data/probe-net.sh");
const PROBES: &str = include_str!("../../../crates/cli/tests/data/probe-links.sh");
const LINK: &str = "pfifo of 30 packets, TBF 1 Mbps|packets|30|qdisc add dev b root handle 1: tbf \
                    rate 1mbit burst 3000 limit 1000000; qdisc add dev b parent 1: pfifo limit 30";

/// Boots the guest, and writes the page.
pub(super) fn measure() -> Outcome {
    run_aside(cargo(&["build", "-p", "fairwave-cli"]))?;
    run_aside(cargo(&["build", "-p", "fairwave-proxy", "--example", "relay-many"]))?;
    let guest = Guest {
        place: "measure-vm",
        commands: ["fairwave", "examples/relay-many"]
            .map(|program| workspace::target().join("debug").join(program))
            .to_vec(),
        init: GUEST,
        files: vec![
            ("radios.sh", RADIOS.to_owned()),
            ("links", format!("{LINK}\n")),
            ("probe-net.sh", NET.to_owned()),
            ("probe-links.sh", PROBES.to_owned()),
        ],
        programs: &PROGRAMS,
        packages: &PACKAGES,
        modules: [&WITH_RADIOS[..], &MODULES].concat(),
    };
    write_page(&guest, "results/guests/measure.md", HEAD, MARK)
}
