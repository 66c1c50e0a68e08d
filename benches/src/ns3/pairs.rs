//! Cases of the comparison with ns-3.

/// The same network on both sides.
pub(crate) struct Pair {
    /// Title in the table.
    pub(crate) title: &'static str,
    /// Name of ns-3's program, in `benches/ns3`.
    pub(crate) peer: &'static str,
    pub(crate) arguments: &'static [&'static str],
    /// Our scenario file.
    pub(crate) scenario: &'static str,
    /// Ratio of the speeds that is our goal.
    pub(crate) target: f64,
}

/// Cases of the comparison.
pub(crate) const PAIRS: [Pair; 3] = [
    Pair {
        title: "16 TCP uploads, 802.11a, NewReno",
        peer: "s1",
        arguments: &["--n=16", "--phy=a54", "--cc=TcpNewReno", "--delack=2", "--warm=0"],
        scenario: "benches/ns3/uploads.toml",
        target: 100.0,
    },
    Pair {
        title: "50 saturated UDP stations, 802.11a",
        peer: "s2",
        arguments: &["--n=50", "--phy=a54"],
        scenario: "benches/ns3/saturation.toml",
        target: 100.0,
    },
    Pair {
        title: "20 TCP downloads, 802.11ax, 80 MHz, MCS 9",
        peer: "s4",
        arguments: &["--std=ax", "--width=80", "--mcs=9", "--proto=tcp", "--n=20", "--warm=0"],
        scenario: "benches/ns3/he-downloads.toml",
        target: 30.0,
    },
];
