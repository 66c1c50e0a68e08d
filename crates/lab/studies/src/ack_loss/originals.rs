//! The figures and tables of the paper, and ours.

use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original::defined(
        "Fig. 1",
        "the network",
        &["studies/ack-loss/uploads.toml", "studies/ack-loss/up-down.toml"],
    ),
    Original::drawn(
        "Fig. 2(a)",
        "windows of a normal and of a starved flow",
        &["fig2a-windows"],
        &["ACK-1"],
    ),
    Original::drawn(
        "Fig. 2(b)",
        "ACKs of the starved flow at the access point",
        &["fig2b-queue"],
        &["ACK-1"],
    ),
    Original::drawn(
        "Fig. 3",
        "throughput of each of 16 uploads by Reno, with the remedy and without",
        &["fig3-reno"],
        &["ACK-2"],
    ),
    Original::drawn(
        "Fig. 4(a)",
        "means of uploads and downloads, few packet errors",
        &["fig4-up-down"],
        &["ACK-3"],
    ),
    Original::drawn(
        "Fig. 4(b)",
        "means of uploads and downloads, many packet errors",
        &["fig4-up-down"],
        &["ACK-4"],
    ),
];
