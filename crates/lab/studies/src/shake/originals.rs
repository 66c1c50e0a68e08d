//! The figures and tables of the paper, and ours.

use fairwave_study::Counterpart::{Defined, Drawn};
use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original {
        name: "Fig. 1",
        content: "hosts that share their links, as a drawing",
        counterpart: Defined(&["docs/models/shake.md"]),
    },
    Original {
        name: "Fig. 2",
        content: "buffers and windows of the sender",
        counterpart: Defined(&["docs/models/shake.md"]),
    },
    Original {
        name: "Fig. 3",
        content: "buffer of the receiver",
        counterpart: Defined(&["docs/models/shake.md"]),
    },
    Original {
        name: "Fig. 4",
        content: "segments in and out of order, as a drawing",
        counterpart: Defined(&["docs/models/shake.md"]),
    },
    Original {
        name: "Fig. 5",
        content: "the model with three paths",
        counterpart: Defined(&["studies/shake/repetition.toml"]),
    },
    Original {
        name: "Table 1",
        content: "rates and delays of the paths",
        counterpart: Defined(&["studies/shake/repetition.toml"]),
    },
    Original {
        name: "Table 2",
        content: "losses for Figs. 6 and 7",
        counterpart: Defined(&["studies/shake/repetition.toml"]),
    },
    Original {
        name: "Fig. 6",
        content: "rcv_nxt by the path of retransmissions",
        counterpart: Drawn { figures: &["fig6"], claims: &["SHK-1"] },
    },
    Original {
        name: "Fig. 7",
        content: "rcv_nxt with SACK and without",
        counterpart: Drawn { figures: &["fig7"], claims: &["SHK-2"] },
    },
    Original {
        name: "Table 3",
        content: "losses of three scenarios",
        counterpart: Defined(&["studies/shake/losses.toml"]),
    },
    Original {
        name: "Fig. 8",
        content: "time of a transfer over its size, three scenarios",
        counterpart: Drawn { figures: &["fig8"], claims: &["SHK-3"] },
    },
    Original {
        name: "Table 4",
        content: "conditions of bursts",
        counterpart: Defined(&["studies/shake/bursts.toml"]),
    },
    Original {
        name: "Table 5",
        content: "scenarios of bursts",
        counterpart: Defined(&["studies/shake/bursts.toml"]),
    },
    Original {
        name: "Fig. 9",
        content: "time of a transfer over the length of bursts",
        counterpart: Drawn { figures: &["fig9"], claims: &["SHK-4"] },
    },
    Original {
        name: "Table 6",
        content: "losses for Fig. 10",
        counterpart: Defined(&["studies/shake/repetition.toml"]),
    },
    Original {
        name: "Fig. 10",
        content: "windows of the paths over time",
        counterpart: Drawn { figures: &["fig10"], claims: &["SHK-5"] },
    },
    Original {
        name: "Table 7",
        content: "losses for Fig. 11",
        counterpart: Defined(&["studies/shake/connections-shake.toml"]),
    },
    Original {
        name: "Table 8",
        content: "parameters of TCP",
        counterpart: Defined(&[
            "studies/shake/connections-shake.toml",
            "studies/shake/connections-tcp.toml",
        ]),
    },
    Original {
        name: "Fig. 11",
        content: "time of a transfer over its size, three methods",
        counterpart: Drawn { figures: &["fig11"], claims: &["SHK-6"] },
    },
];
