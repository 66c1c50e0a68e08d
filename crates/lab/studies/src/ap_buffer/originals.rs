//! The figures and tables of the paper as far as they are about buffers, and ours.

use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original::defined(
        "Fig. 2",
        "ACKs that overflow the buffer, as a drawing",
        &["docs/models/queues.md"],
    ),
    Original::defined("Fig. 6", "the network of the measurement", &["studies/ap-buffer/idle.toml"]),
    Original::drawn(
        "Section 3",
        "the buffers of six access points, in packets",
        &["estimates-idle"],
        &["BUF-1"],
    ),
];
