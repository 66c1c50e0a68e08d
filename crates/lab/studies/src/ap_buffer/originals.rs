//! The figures and tables of the paper as far as they are about buffers, and ours.

use fairwave_study::Counterpart::{Defined, Drawn};
use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original {
        name: "Fig. 2",
        content: "ACKs that overflow the buffer, as a drawing",
        counterpart: Defined(&["docs/models/queues.md"]),
    },
    Original {
        name: "Fig. 6",
        content: "the network of the measurement",
        counterpart: Defined(&["studies/ap-buffer/idle.toml"]),
    },
    Original {
        name: "Section 3",
        content: "the buffers of six access points, in packets",
        counterpart: Drawn { figures: &["estimates-idle"], claims: &["BUF-1"] },
    },
];
