//! The figures and tables of the paper as far as they are about TCP-AV, and ours.

use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original::defined("Fig. 25", "the network with the proxy", &["studies/tcp-av/targets.toml"]),
    Original::drawn(
        "Fig. 26",
        "achievement over the target, 2.5 ms one way",
        &["fig26"],
        &["BUF-6"],
    ),
    Original::drawn("Fig. 27", "achievement over the target, 5 ms one way", &["fig27"], &["BUF-6"]),
];
