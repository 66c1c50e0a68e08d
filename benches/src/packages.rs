//! Packages of the system that single drivers need.

use xtask::shell::Outcome;
use xtask::system::{Need, Sign, ensure, ensure_debian};

/// Packages with other readers of captures, and with the tool that measures the time.
const READERS: [Need; 4] = [
    Need { sign: Sign::Program("tshark"), package: "tshark", why: "reads captures, with capinfos" },
    Need { sign: Sign::Program("tcpdump"), package: "tcpdump", why: "reads captures" },
    Need { sign: Sign::File("/usr/bin/tcptrace"), package: "tcptrace", why: "reads captures" },
    Need { sign: Sign::File("/usr/bin/time"), package: "time", why: "measures time and memory" },
];

/// Packages for making the captures with which `fairwave trace` is judged.
const CAPTURES: [Need; 10] = [
    Need { sign: Sign::Program("iperf3"), package: "iperf3", why: "sends as fast as it can" },
    Need { sign: Sign::Program("iperf"), package: "iperf", why: "numbers datagrams its own way" },
    Need { sign: Sign::Program("curl"), package: "curl", why: "downloads" },
    Need { sign: Sign::File("/usr/bin/scp"), package: "openssh-client", why: "copies files" },
    Need { sign: Sign::File("/usr/sbin/sshd"), package: "openssh-server", why: "takes them" },
    Need { sign: Sign::File("/usr/bin/ffmpeg"), package: "ffmpeg", why: "streams" },
    Need { sign: Sign::Program("tcpdump"), package: "tcpdump", why: "captures it" },
    Need { sign: Sign::File("/usr/sbin/ip"), package: "iproute2", why: "makes the network" },
    Need { sign: Sign::File("/usr/sbin/ethtool"), package: "ethtool", why: "sets offloads" },
    Need { sign: Sign::Program("python3"), package: "python3", why: "drives it all" },
];

/// Packages for building the comparison with ns-3.
const NS3: [Need; 2] = [
    Need {
        sign: Sign::File("/usr/include/ns3/wifi-module.h"),
        package: "libns3-dev",
        why: "the simulator to compare with",
    },
    Need { sign: Sign::Program("g++"), package: "g++", why: "builds programs that use it" },
];

/// Packages for compiling Linux's Minstrel-HT.
const MINSTREL: [Need; 2] = [
    Need {
        sign: Sign::File("/usr/src/linux-source-6.1.tar.xz"),
        package: "linux-source-6.1",
        why: "the rate control to compare with",
    },
    Need { sign: Sign::Program("cc"), package: "gcc", why: "compiles it" },
];

/// Packages for booting a guest with an older kernel.
const GUEST: [Need; 6] = [
    Need {
        sign: Sign::Program("qemu-system-x86_64"),
        package: "qemu-system-x86",
        why: "runs the older kernel",
    },
    Need { sign: Sign::File("/usr/bin/busybox"), package: "busybox-static", why: "its programs" },
    Need { sign: Sign::Program("iperf3"), package: "iperf3", why: "sends in it" },
    Need { sign: Sign::File("/usr/sbin/ip"), package: "iproute2", why: "makes its network" },
    Need {
        sign: Sign::File("/usr/include/libelf.h"),
        package: "libelf-dev",
        why: "loads algorithms",
    },
    Need { sign: Sign::Program("strip"), package: "binutils", why: "makes its disk smaller" },
];

/// Installs other readers of captures.
pub(crate) fn readers() -> Outcome {
    ensure(&READERS)
}

/// Installs tshark.
pub(crate) fn tshark() -> Outcome {
    ensure(&READERS[..1])
}

/// Installs the programs that make captures. They need Linux's namespaces.
pub(crate) fn captures() -> Outcome {
    ensure_debian(&CAPTURES)
}

/// Installs ns-3. Recorded figures refer to Debian's build of it.
pub(crate) fn ns3() -> Outcome {
    ensure_debian(&NS3)
}

/// Installs a compiler and Linux's source, which is in a Debian package.
pub(crate) fn minstrel() -> Outcome {
    ensure_debian(&MINSTREL)
}

/// Installs QEMU and the programs of a guest, whose kernel is Debian's.
pub(crate) fn guest() -> Outcome {
    ensure_debian(&GUEST)
}
