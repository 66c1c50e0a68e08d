//! The figures and tables of the paper, and ours.

use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original::defined(
        "Fig. 1",
        "the loop of rate and feedback, as a drawing",
        &["docs/models/dccp.md"],
    ),
    Original::defined("Fig. 2", "the network", &["studies/tfrc-handover/handover.toml"]),
    Original::drawn(
        "Fig. 3",
        "mean sending rates over time",
        &["fig3-1.5", "fig3-2.5", "fig3-3", "fig3-3.5"],
        &["HO-1"],
    ),
    Original::drawn("Fig. 4", "recovery time over the disconnection period", &["fig4"], &["HO-1"]),
    Original::drawn("Fig. 5", "mean loss interval after the handover", &["fig5"], &["HO-2"]),
    Original::drawn("Fig. 6", "round-trip time after the handover", &["fig6"], &["HO-3"]),
];
