//! The figures and tables of the paper, and ours.

use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original::defined(
        "Fig. 1",
        "hosts that share their links, as a drawing",
        &["docs/models/shake.md"],
    ),
    Original::defined("Fig. 2", "buffers and windows of the sender", &["docs/models/shake.md"]),
    Original::defined("Fig. 3", "buffer of the receiver", &["docs/models/shake.md"]),
    Original::defined(
        "Fig. 4",
        "segments in and out of order, as a drawing",
        &["docs/models/shake.md"],
    ),
    Original::defined("Fig. 5", "the model with three paths", &["studies/shake/repetition.toml"]),
    Original::defined(
        "Table 1",
        "rates and delays of the paths",
        &["studies/shake/repetition.toml"],
    ),
    Original::defined("Table 2", "losses for Figs. 6 and 7", &["studies/shake/repetition.toml"]),
    Original::drawn("Fig. 6", "rcv_nxt by the path of retransmissions", &["fig6"], &["SHK-1"]),
    Original::drawn("Fig. 7", "rcv_nxt with SACK and without", &["fig7"], &["SHK-2"]),
    Original::defined("Table 3", "losses of three scenarios", &["studies/shake/losses.toml"]),
    Original::drawn(
        "Fig. 8",
        "time of a transfer over its size, three scenarios",
        &["fig8"],
        &["SHK-3"],
    ),
    Original::defined("Table 4", "conditions of bursts", &["studies/shake/bursts.toml"]),
    Original::defined("Table 5", "scenarios of bursts", &["studies/shake/bursts.toml"]),
    Original::drawn(
        "Fig. 9",
        "time of a transfer over the length of bursts",
        &["fig9"],
        &["SHK-4"],
    ),
    Original::defined("Table 6", "losses for Fig. 10", &["studies/shake/repetition.toml"]),
    Original::drawn("Fig. 10", "windows of the paths over time", &["fig10"], &["SHK-5"]),
    Original::defined("Table 7", "losses for Fig. 11", &["studies/shake/connections-shake.toml"]),
    Original::defined(
        "Table 8",
        "parameters of TCP",
        &["studies/shake/connections-shake.toml", "studies/shake/connections-tcp.toml"],
    ),
    Original::drawn(
        "Fig. 11",
        "time of a transfer over its size, three methods",
        &["fig11"],
        &["SHK-6"],
    ),
];
