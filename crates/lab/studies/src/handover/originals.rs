//! The figures and tables of the paper, and ours.

use fairwave_study::Counterpart::{Defined, Drawn};
use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original {
        name: "Fig. 1",
        content: "the loop of rate and feedback, as a drawing",
        counterpart: Defined(&["docs/models/dccp.md"]),
    },
    Original {
        name: "Fig. 2",
        content: "the network",
        counterpart: Defined(&["studies/tfrc-handover/handover.toml"]),
    },
    Original {
        name: "Fig. 3",
        content: "mean sending rates over time",
        counterpart: Drawn {
            figures: &["fig3-1.5", "fig3-2.5", "fig3-3", "fig3-3.5"],
            claims: &["HO-1"],
        },
    },
    Original {
        name: "Fig. 4",
        content: "recovery time over the disconnection period",
        counterpart: Drawn { figures: &["fig4"], claims: &["HO-1"] },
    },
    Original {
        name: "Fig. 5",
        content: "mean loss interval after the handover",
        counterpart: Drawn { figures: &["fig5"], claims: &["HO-2"] },
    },
    Original {
        name: "Fig. 6",
        content: "round-trip time after the handover",
        counterpart: Drawn { figures: &["fig6"], claims: &["HO-3"] },
    },
];
