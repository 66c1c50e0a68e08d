//! `cargo xtask vm shake`: downloads by `fairwave shake` in Debian's kernel 6.1, over a simulated
//! radio and a wired link, while the clock steps, the machine is suspended, an address changes, and
//! the radio is lost. No test may do this to the machine on which it runs.

use super::guest::{Guest, WITH_RADIOS};
use super::soc::{PACKAGES, RADIOS, write_page};
use xtask::shell::{Outcome, cargo, run_aside};
use xtask::workspace;

/// The guest's script, and the beginning of its lines for the page.
const GUEST: &str = include_str!("shake.sh");
const MARK: &str = "SHAKE ";
/// Beginning of the page.
const HEAD: &str = include_str!("shake.md");
const PROGRAMS: [&str; 9] =
    ["ip", "hostapd", "hostapd_cli", "wpa_supplicant", "wpa_cli", "iw", "tc", "nft", "curl"];
const MODULES: [&str; 21] = [
    "drivers/net/veth",
    "net/sched/sch_tbf",
    "net/llc/llc",
    "net/802/stp",
    "net/bridge/bridge",
    "crypto/crc32c_generic",
    "lib/libcrc32c",
    "net/netfilter/nfnetlink",
    "net/netfilter/nf_tables",
    "net/ipv4/netfilter/nf_defrag_ipv4",
    "net/ipv6/netfilter/nf_defrag_ipv6",
    "net/netfilter/nft_fib",
    "net/ipv4/netfilter/nft_fib_ipv4",
    "net/ipv6/netfilter/nft_fib_ipv6",
    "net/netfilter/nft_fib_inet",
    "net/ipv4/netfilter/nf_tproxy_ipv4",
    "net/ipv6/netfilter/nf_tproxy_ipv6",
    "net/ipv4/netfilter/nf_socket_ipv4",
    "net/ipv6/netfilter/nf_socket_ipv6",
    "net/netfilter/nft_tproxy",
    "net/netfilter/nft_socket",
];

/// Boots the guest, and writes the page.
pub(super) fn shake() -> Outcome {
    run_aside(cargo(&["build", "-p", "fairwave-cli"]))?;
    let guest = Guest {
        place: "shake-vm",
        commands: vec![workspace::target().join("debug/fairwave")],
        init: GUEST,
        files: vec![("radios.sh", RADIOS.to_owned())],
        programs: &PROGRAMS,
        packages: &PACKAGES,
        modules: [&WITH_RADIOS[..], &MODULES].concat(),
    };
    write_page(&guest, "results/guests/shake.md", HEAD, MARK)
}
