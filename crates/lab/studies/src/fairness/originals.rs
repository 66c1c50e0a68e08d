//! The figures and tables of the paper as far as they are about fairness, and ours.

use fairwave_study::Counterpart::{Defined, Drawn};
use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original {
        name: "Fig. 1",
        content: "fair and unfair throughput, as an example",
        counterpart: Defined(&["docs/studies/fairness.md"]),
    },
    Original {
        name: "Fig. 3",
        content: "the network with five terminals",
        counterpart: Defined(&["studies/fairness/mixes.toml"]),
    },
    Original {
        name: "Fig. 4",
        content: "throughput of three terminals, 255 packets",
        counterpart: Drawn { figures: &["fig4"], claims: &["BUF-2"] },
    },
    Original {
        name: "Fig. 5",
        content: "throughput of five terminals, 255 packets",
        counterpart: Drawn { figures: &["fig5"], claims: &["BUF-2"] },
    },
    Original {
        name: "Fig. 7",
        content: "throughput of two terminals, 31 packets",
        counterpart: Drawn { figures: &["fig7"], claims: &["BUF-3"] },
    },
    Original {
        name: "Fig. 8",
        content: "throughput of three terminals, 31 packets",
        counterpart: Drawn { figures: &["fig8"], claims: &["BUF-3"] },
    },
    Original {
        name: "Fig. 9",
        content: "throughput of four terminals, 31 packets",
        counterpart: Drawn { figures: &["fig9"], claims: &["BUF-3"] },
    },
    Original {
        name: "Fig. 10",
        content: "throughput of five terminals, 31 packets",
        counterpart: Drawn { figures: &["fig10"], claims: &["BUF-3"] },
    },
    Original {
        name: "Fig. 11",
        content: "throughput of six terminals, 31 packets",
        counterpart: Drawn { figures: &["fig11"], claims: &["BUF-3"] },
    },
    Original {
        name: "Fig. 12",
        content: "throughput of seven terminals, 31 packets",
        counterpart: Drawn { figures: &["fig12"], claims: &["BUF-3"] },
    },
    Original {
        name: "Fig. 13",
        content: "the points of capture",
        counterpart: Defined(&["studies/fairness/detail.toml"]),
    },
    Original {
        name: "Fig. 14",
        content: "data and ACKs of a fast terminal",
        counterpart: Drawn { figures: &["fig14"], claims: &["BUF-4"] },
    },
    Original {
        name: "Fig. 15",
        content: "data and ACKs of a starved terminal",
        counterpart: Drawn { figures: &["fig15"], claims: &["BUF-4"] },
    },
    Original {
        name: "Fig. 16",
        content: "packets of a fast terminal by interval",
        counterpart: Drawn { figures: &["fig16-17"], claims: &["BUF-4"] },
    },
    Original {
        name: "Fig. 17",
        content: "packets of a starved terminal by interval",
        counterpart: Drawn { figures: &["fig16-17"], claims: &["BUF-4"] },
    },
    Original {
        name: "Fig. 18",
        content: "the converter between two points of capture",
        counterpart: Defined(&[
            "studies/fairness/converter-tcp.toml",
            "studies/fairness/converter-udp.toml",
        ]),
    },
    Original {
        name: "Fig. 19",
        content: "TCP at the server",
        counterpart: Drawn { figures: &["fig19-20", "fig19-20-intervals"], claims: &["BUF-5"] },
    },
    Original {
        name: "Fig. 20",
        content: "TCP at the client",
        counterpart: Drawn { figures: &["fig19-20", "fig19-20-intervals"], claims: &["BUF-5"] },
    },
    Original {
        name: "Fig. 21",
        content: "UDP at the server, times of packets",
        counterpart: Drawn { figures: &["fig21-22"], claims: &["BUF-5"] },
    },
    Original {
        name: "Fig. 22",
        content: "UDP at the client, times of packets",
        counterpart: Drawn { figures: &["fig21-22"], claims: &["BUF-5"] },
    },
    Original {
        name: "Fig. 23",
        content: "UDP at the client, packets by interval",
        counterpart: Drawn { figures: &["fig23-24"], claims: &["BUF-5"] },
    },
    Original {
        name: "Fig. 24",
        content: "UDP at the server, packets by interval",
        counterpart: Drawn { figures: &["fig23-24"], claims: &["BUF-5"] },
    },
];
