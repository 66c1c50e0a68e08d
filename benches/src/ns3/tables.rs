//! The tables of results/validation.md that compare ns-3's figures with ours: one line of arguments
//! of an ns-3 program for each row, from which our scenario follows (see [`super::cell`]).

use clap::ValueEnum;

/// A table of results/validation.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// Stations of 802.11a and b that always have a datagram to send.
    Saturation,
    /// Sixteen and four uploads by TCP over 802.11a and a wire.
    Uploads,
    /// 802.11a, b and g: downloads, both directions, TCP without a wire.
    Downloads,
    /// 802.11n, ac and ax: contended uplinks with and without BlockAckReqs.
    Uplinks,
    /// 802.11n, ac and ax: A-MPDUs without BlockAckReqs after a missing BlockAck.
    Aggregation,
}

impl Table {
    /// The program of ns-3 in `benches/ns3`.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Uploads => "s1",
            Self::Saturation => "s2",
            Self::Downloads | Self::Uplinks | Self::Aggregation => "s4",
        }
    }

    /// Default number of our seeds.
    pub(super) fn seeds(self) -> u32 {
        match self {
            Self::Saturation => 20,
            Self::Uploads => 60,
            Self::Downloads | Self::Aggregation => 5,
            Self::Uplinks => 6,
        }
    }

    /// The arguments of the program, for each row.
    pub(super) fn rows(self) -> Vec<String> {
        let all = |rows: &[&str], more: &str| -> Vec<String> {
            rows.iter().map(|row| format!("{row}{more}")).collect()
        };
        match self {
            Self::Saturation => all(&SATURATION, ""),
            Self::Uploads => all(&UPLOADS, ""),
            Self::Downloads => all(&DOWNLOADS, ""),
            Self::Uplinks => {
                let mut rows = all(&UDP_UPLINKS, " --dur=8 --warm=1");
                // ns-3 silences stations unless BlockAck agreements exist before the flows.
                let greedy = " --proto=tcp --dur=20 --warm=10 --agree=100";
                rows.extend(all(&TCP_UPLINKS, greedy));
                let limited = " --proto=tcp --dur=10 --warm=5 --buf=128000 --agree=100";
                rows.extend(all(&LIMITED_UPLINKS, limited));
                let ways =
                    |row: &String| [1, 0].map(|bar| format!("{row} --retries=1000 --bar={bar}"));
                rows.iter().flat_map(ways).collect()
            }
            Self::Aggregation => {
                let mut rows = all(&AGGREGATION, "");
                rows.extend(all(&CONTENDED, " --bar=0 --retries=1000"));
                rows
            }
        }
    }
}

const SATURATION: [&str; 15] = [
    "--phy=a54 --n=1",
    "--phy=a54 --n=10",
    "--phy=a54 --n=50",
    "--phy=a54 --n=10 --pd=0",
    "--phy=a54 --n=50 --pd=0",
    "--phy=b11 --n=1",
    "--phy=b11 --n=10",
    "--phy=b11 --n=50",
    "--phy=b11 --n=10 --pd=0",
    "--phy=b11 --n=50 --pd=0",
    "--phy=b2 --n=1",
    "--phy=b2 --n=10",
    "--phy=b2 --n=50",
    "--phy=b2 --n=10 --pd=0",
    "--phy=b2 --n=50 --pd=0",
];

const UPLOADS: [&str; 3] = [
    "--phy=a54 --cc=TcpNewReno --n=16 --delack=2",
    "--phy=a54 --cc=TcpNewReno --n=16 --delack=1",
    "--phy=a54 --cc=TcpNewReno --n=4 --delack=2",
];

const DOWNLOADS: [&str; 16] = [
    "--std=a --dir=down --n=4 --dur=4 --warm=1",
    "--std=a --dir=up --n=10 --dur=4 --warm=1",
    "--std=a --dir=both --n=4 --dur=4 --warm=1",
    "--std=a --dir=down --n=4 --proto=tcp --dur=4 --warm=3",
    "--std=b --dir=down --n=4 --dur=4 --warm=1",
    "--std=b --dir=up --n=10 --dur=4 --warm=1",
    "--std=b --dir=both --n=4 --dur=4 --warm=1",
    "--std=b --dir=down --n=4 --proto=tcp --dur=4 --warm=3",
    "--std=g --dir=down --n=4 --dur=4 --warm=1",
    "--std=g --dir=up --n=10 --dur=4 --warm=1",
    "--std=g --dir=both --n=4 --dur=4 --warm=1",
    "--std=g --dir=down --n=4 --proto=tcp --dur=4 --warm=3",
    "--std=a --dir=down --n=20 --proto=tcp --dur=4 --warm=3",
    "--std=b --dir=down --n=20 --proto=tcp --dur=4 --warm=3",
    "--std=b --dir=up --n=4 --proto=tcp --dur=4 --warm=3",
    "--std=a --dir=up --n=4 --proto=tcp --dur=40 --warm=20",
];

/// Saturated uplinks by UDP. The first three are cases in which a difference was noticed, as is the
/// first one by TCP.
const UDP_UPLINKS: [&str; 16] = [
    "--std=n --mcs=7 --width=40 --dir=up --n=12",
    "--std=n --mcs=4 --dir=up --n=7",
    "--std=ax --mcs=3 --width=20 --dir=up --n=15",
    "--std=n --mcs=7 --dir=up --n=4",
    "--std=n --mcs=7 --dir=up --n=10",
    "--std=n --mcs=7 --dir=up --n=20",
    "--std=n --mcs=2 --dir=up --n=5",
    "--std=n --mcs=7 --nss=2 --width=40 --gi=400 --dir=up --n=10",
    "--std=ac --mcs=9 --width=80 --dir=up --n=4",
    "--std=ac --mcs=9 --width=80 --dir=up --n=10",
    "--std=ac --mcs=9 --width=80 --dir=up --n=20",
    "--std=ac --mcs=5 --width=40 --dir=up --n=8",
    "--std=ax --mcs=9 --width=80 --dir=up --n=5",
    "--std=ax --mcs=9 --width=80 --dir=up --n=10",
    "--std=ax --mcs=9 --width=20 --dir=up --n=10",
    "--std=ax --mcs=11 --width=40 --dir=up --n=6",
];

/// Uploads with TCP windows of up to 4 MiB.
const TCP_UPLINKS: [&str; 5] = [
    "--std=n --mcs=7 --width=40 --dir=up --n=12",
    "--std=n --mcs=7 --dir=up --n=4",
    "--std=n --mcs=7 --dir=up --n=10",
    "--std=ac --mcs=9 --width=80 --dir=up --n=10",
    "--std=ax --mcs=7 --width=20 --dir=up --n=8",
];

/// Uploads with TCP windows of 128 kB, so that no station takes the medium from the others.
const LIMITED_UPLINKS: [&str; 3] = [
    "--std=n --mcs=7 --width=40 --dir=up --n=12",
    "--std=ac --mcs=9 --width=80 --dir=up --n=10",
    "--std=ax --mcs=7 --width=20 --dir=up --n=8",
];

/// Cells in which no station misses a BlockAck, or RTS makes that rare.
const AGGREGATION: [&str; 8] = [
    "--std=n --mcs=7 --dir=down --n=4 --dur=4 --warm=1",
    "--std=n --mcs=7 --nss=2 --width=40 --gi=400 --dir=down --n=4 --dur=4 --warm=1",
    "--std=ac --mcs=9 --width=80 --dir=down --n=4 --dur=4 --warm=1",
    "--std=ax --mcs=9 --width=80 --dir=down --n=4 --dur=4 --warm=1",
    "--std=ax --mcs=9 --width=20 --dir=down --n=4 --dur=4 --warm=1",
    "--std=n --mcs=7 --dir=up --n=20 --dur=4 --warm=1 --rts=1",
    concat!(
        "--std=ax --mcs=9 --width=80 --dir=down --n=4 --dur=4 --warm=1 ",
        "--ba=256 --backlog=600 --queue=4000"
    ),
    "--std=ax --mcs=9 --width=80 --dir=up --n=10 --dur=4 --warm=1 --rts=1",
];

/// Contended uplinks without BlockAckReqs.
const CONTENDED: [&str; 23] = [
    "--std=n --mcs=7 --dir=up --n=4 --dur=4 --warm=1",
    "--std=n --mcs=7 --dir=up --n=10 --dur=20 --warm=1",
    "--std=n --mcs=7 --dir=up --n=20 --dur=20 --warm=1",
    "--std=n --mcs=7 --dir=both --n=4 --dur=4 --warm=1",
    "--std=n --mcs=7 --nss=2 --width=40 --gi=400 --dir=up --n=10 --dur=4 --warm=1",
    "--std=ac --mcs=9 --width=80 --dir=up --n=4 --dur=4 --warm=1",
    "--std=ac --mcs=9 --width=80 --dir=up --n=10 --dur=4 --warm=1",
    "--std=ac --mcs=9 --width=80 --dir=up --n=20 --dur=4 --warm=1",
    "--std=ac --mcs=9 --width=80 --dir=both --n=4 --dur=4 --warm=1",
    "--std=ax --mcs=9 --width=80 --dir=up --n=10 --dur=4 --warm=1",
    "--std=ax --mcs=9 --width=20 --dir=up --n=10 --dur=4 --warm=1",
    "--std=ax --mcs=9 --width=80 --dir=up --n=10 --dur=4 --warm=1 --ba=256 --backlog=600",
    "--std=n --mcs=7 --dir=down --n=1 --proto=tcp --dur=4 --warm=3",
    "--std=n --mcs=7 --dir=down --n=4 --proto=tcp --dur=4 --warm=3",
    "--std=n --mcs=7 --dir=down --n=20 --proto=tcp --dur=4 --warm=3",
    "--std=n --mcs=7 --nss=2 --width=40 --gi=400 --dir=down --n=4 --proto=tcp --dur=4 --warm=3",
    "--std=ac --mcs=9 --width=80 --dir=down --n=4 --proto=tcp --dur=4 --warm=3",
    "--std=ax --mcs=9 --width=80 --dir=down --n=1 --proto=tcp --dur=4 --warm=3",
    "--std=ax --mcs=9 --width=80 --dir=down --n=4 --proto=tcp --dur=4 --warm=3",
    "--std=ax --mcs=9 --width=80 --dir=down --n=20 --proto=tcp --dur=4 --warm=3",
    "--std=n --mcs=7 --dir=up --n=4 --proto=tcp --dur=40 --warm=20",
    "--std=ax --mcs=9 --width=80 --dir=up --n=4 --proto=tcp --dur=4 --warm=3",
    "--std=ac --mcs=9 --width=80 --dir=up --n=10 --proto=tcp --dur=4 --warm=3",
];
