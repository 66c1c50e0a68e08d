//! The figures and tables of the paper as far as they are about TCP-AV, and ours.

use fairwave_study::Counterpart::{Defined, Drawn};
use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original {
        name: "Fig. 25",
        content: "the network with the proxy",
        counterpart: Defined(&["studies/tcp-av/targets.toml"]),
    },
    Original {
        name: "Fig. 26",
        content: "achievement over the target, 2.5 ms one way",
        counterpart: Drawn { figures: &["fig26"], claims: &["BUF-6"] },
    },
    Original {
        name: "Fig. 27",
        content: "achievement over the target, 5 ms one way",
        counterpart: Drawn { figures: &["fig27"], claims: &["BUF-6"] },
    },
];
