//! The figures and tables of the paper, and ours.

use fairwave_study::Counterpart::{Defined, Drawn, Measured, Missing};
use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original {
        name: "Fig. 1",
        content: "hosts near and far, as a drawing",
        counterpart: Defined(&["studies/socps/bad-tcp.toml"]),
    },
    Original {
        name: "Fig. 2",
        content: "kinds of channel state by grain and frequency",
        counterpart: Missing("a classification, which measures nothing"),
    },
    Original {
        name: "Fig. 3",
        content: "the parts of SoCPS",
        counterpart: Defined(&["docs/models/soc.md"]),
    },
    Original {
        name: "Fig. 4",
        content: "the damping of lost reports",
        counterpart: Defined(&["crates/protocols/soc/src/table.rs"]),
    },
    Original {
        name: "Fig. 5",
        content: "weight over SoC, GB",
        counterpart: Defined(&["crates/protocols/soc/src/policy.rs"]),
    },
    Original {
        name: "Table 1",
        content: "shares by GB",
        counterpart: Defined(&["crates/protocols/soc/src/policy/tests.rs"]),
    },
    Original {
        name: "Fig. 6",
        content: "weight over SoC, PW",
        counterpart: Defined(&["crates/protocols/soc/src/policy.rs"]),
    },
    Original {
        name: "Table 2",
        content: "shares by PW",
        counterpart: Defined(&["crates/protocols/soc/src/policy/tests.rs"]),
    },
    Original {
        name: "Fig. 7",
        content: "the scheduler in pseudo-code",
        counterpart: Defined(&["docs/models/schedulers.md"]),
    },
    Original {
        name: "Fig. 8",
        content: "the frame and the entry of the table",
        counterpart: Defined(&[
            "crates/base/wire/src/soc/plain.rs",
            "crates/protocols/soc/src/table.rs",
        ]),
    },
    Original {
        name: "Fig. 9",
        content: "the branch by EtherType in a FreeBSD kernel",
        counterpart: Missing("a diagram of code in FreeBSD 3.4; ours runs on Linux"),
    },
    Original {
        name: "Fig. 10",
        content: "the testbed",
        counterpart: Defined(&["studies/socps/good-tcp.toml"]),
    },
    Original {
        name: "Table 3",
        content: "environments",
        counterpart: Defined(&[
            "studies/socps/good-tcp.toml",
            "studies/socps/bad-tcp.toml",
            "studies/socps/moving-tcp.toml",
        ]),
    },
    Original {
        name: "Table 4",
        content: "time of forwarding a packet",
        counterpart: Measured(&["SOC-8"]),
    },
    Original {
        name: "Fig. 11",
        content: "throughput over time, FIFO",
        counterpart: Drawn { figures: &["fig11"], claims: &["SOC-1"] },
    },
    Original {
        name: "Fig. 12",
        content: "throughput over time, SoCPS",
        counterpart: Drawn { figures: &["fig12"], claims: &["SOC-1"] },
    },
    Original {
        name: "Fig. 13",
        content: "totals of hosts, TCP, all good",
        counterpart: Drawn { figures: &["fig13"], claims: &["SOC-1"] },
    },
    Original {
        name: "Fig. 14",
        content: "totals by scheme, TCP, one host bad",
        counterpart: Drawn { figures: &["fig14"], claims: &["SOC-2"] },
    },
    Original {
        name: "Fig. 15",
        content: "throughput of voice, all good",
        counterpart: Drawn { figures: &["fig15"], claims: &["SOC-3"] },
    },
    Original {
        name: "Fig. 16",
        content: "totals of voice, one host bad",
        counterpart: Drawn { figures: &["fig16"], claims: &["SOC-4"] },
    },
    Original {
        name: "Fig. 17",
        content: "total over the number of hosts, constant rate",
        counterpart: Drawn { figures: &["fig17"], claims: &["SOC-5"] },
    },
    Original {
        name: "Fig. 18",
        content: "totals of voice and TCP",
        counterpart: Drawn { figures: &["fig18"], claims: &["SOC-6"] },
    },
    Original {
        name: "Fig. 19",
        content: "SoC of a host that walks",
        counterpart: Drawn { figures: &["fig19"], claims: &["SOC-7"] },
    },
    Original {
        name: "Fig. 20",
        content: "throughput of the hosts meanwhile",
        counterpart: Drawn { figures: &["fig20"], claims: &["SOC-7"] },
    },
    Original {
        name: "Fig. 21",
        content: "totals for both intervals of reports",
        counterpart: Drawn { figures: &["fig21"], claims: &["SOC-7"] },
    },
    Original {
        name: "Fig. 22",
        content: "throughput over SoC",
        counterpart: Drawn { figures: &["fig22"], claims: &["SOC-9"] },
    },
    Original {
        name: "Fig. 23",
        content: "loss over SoC",
        counterpart: Drawn { figures: &["fig23"], claims: &["SOC-9"] },
    },
];
