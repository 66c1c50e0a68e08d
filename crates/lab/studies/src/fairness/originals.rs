//! The figures and tables of the paper as far as they are about fairness, and ours.

use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original::defined(
        "Fig. 1",
        "fair and unfair throughput, as an example",
        &["docs/studies/fairness.md"],
    ),
    Original::defined(
        "Fig. 3",
        "the network with five terminals",
        &["studies/fairness/mixes.toml"],
    ),
    Original::drawn("Fig. 4", "throughput of three terminals, 255 packets", &["fig4"], &["BUF-2"]),
    Original::drawn("Fig. 5", "throughput of five terminals, 255 packets", &["fig5"], &["BUF-2"]),
    Original::drawn("Fig. 7", "throughput of two terminals, 31 packets", &["fig7"], &["BUF-3"]),
    Original::drawn("Fig. 8", "throughput of three terminals, 31 packets", &["fig8"], &["BUF-3"]),
    Original::drawn("Fig. 9", "throughput of four terminals, 31 packets", &["fig9"], &["BUF-3"]),
    Original::drawn("Fig. 10", "throughput of five terminals, 31 packets", &["fig10"], &["BUF-3"]),
    Original::drawn("Fig. 11", "throughput of six terminals, 31 packets", &["fig11"], &["BUF-3"]),
    Original::drawn("Fig. 12", "throughput of seven terminals, 31 packets", &["fig12"], &["BUF-3"]),
    Original::defined("Fig. 13", "the points of capture", &["studies/fairness/detail.toml"]),
    Original::drawn("Fig. 14", "data and ACKs of a fast terminal", &["fig14"], &["BUF-4"]),
    Original::drawn("Fig. 15", "data and ACKs of a starved terminal", &["fig15"], &["BUF-4"]),
    Original::drawn("Fig. 16", "packets of a fast terminal by interval", &["fig16-17"], &["BUF-4"]),
    Original::drawn(
        "Fig. 17",
        "packets of a starved terminal by interval",
        &["fig16-17"],
        &["BUF-4"],
    ),
    Original::defined(
        "Fig. 18",
        "the converter between two points of capture",
        &["studies/fairness/converter-tcp.toml", "studies/fairness/converter-udp.toml"],
    ),
    Original::drawn(
        "Fig. 19",
        "TCP at the server",
        &["fig19-20", "fig19-20-intervals"],
        &["BUF-5"],
    ),
    Original::drawn(
        "Fig. 20",
        "TCP at the client",
        &["fig19-20", "fig19-20-intervals"],
        &["BUF-5"],
    ),
    Original::drawn("Fig. 21", "UDP at the server, times of packets", &["fig21-22"], &["BUF-5"]),
    Original::drawn("Fig. 22", "UDP at the client, times of packets", &["fig21-22"], &["BUF-5"]),
    Original::drawn("Fig. 23", "UDP at the client, packets by interval", &["fig23-24"], &["BUF-5"]),
    Original::drawn("Fig. 24", "UDP at the server, packets by interval", &["fig23-24"], &["BUF-5"]),
];
