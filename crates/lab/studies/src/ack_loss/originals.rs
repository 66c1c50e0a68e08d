//! The figures and tables of the paper, and ours.

use fairwave_study::Counterpart::{Defined, Drawn};
use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original {
        name: "Fig. 1",
        content: "the network",
        counterpart: Defined(&["studies/ack-loss/uploads.toml", "studies/ack-loss/up-down.toml"]),
    },
    Original {
        name: "Fig. 2(a)",
        content: "windows of a normal and of a starved flow",
        counterpart: Drawn { figures: &["fig2a-windows"], claims: &["ACK-1"] },
    },
    Original {
        name: "Fig. 2(b)",
        content: "ACKs of the starved flow at the access point",
        counterpart: Drawn { figures: &["fig2b-queue"], claims: &["ACK-1"] },
    },
    Original {
        name: "Fig. 3",
        content: "throughput of each of 16 uploads by Reno, with the remedy and without",
        counterpart: Drawn { figures: &["fig3-reno"], claims: &["ACK-2"] },
    },
    Original {
        name: "Fig. 4(a)",
        content: "means of uploads and downloads, few packet errors",
        counterpart: Drawn { figures: &["fig4-up-down"], claims: &["ACK-3"] },
    },
    Original {
        name: "Fig. 4(b)",
        content: "means of uploads and downloads, many packet errors",
        counterpart: Drawn { figures: &["fig4-up-down"], claims: &["ACK-4"] },
    },
];
