//! The figures and tables of the paper, and ours.

use fairwave_study::Original;

pub(super) const ORIGINALS: &[Original] = &[
    Original::defined(
        "Fig. 1",
        "hosts near and far, as a drawing",
        &["studies/socps/bad-tcp.toml"],
    ),
    Original::missing(
        "Fig. 2",
        "kinds of channel state by grain and frequency",
        "a classification, which measures nothing",
    ),
    Original::defined("Fig. 3", "the parts of SoCPS", &["docs/models/soc.md"]),
    Original::defined(
        "Fig. 4",
        "the damping of lost reports",
        &["crates/protocols/soc/src/table.rs"],
    ),
    Original::defined("Fig. 5", "weight over SoC, GB", &["crates/protocols/soc/src/policy.rs"]),
    Original::defined("Table 1", "shares by GB", &["crates/protocols/soc/src/policy/tests.rs"]),
    Original::defined("Fig. 6", "weight over SoC, PW", &["crates/protocols/soc/src/policy.rs"]),
    Original::defined("Table 2", "shares by PW", &["crates/protocols/soc/src/policy/tests.rs"]),
    Original::defined("Fig. 7", "the scheduler in pseudo-code", &["docs/models/schedulers.md"]),
    Original::defined(
        "Fig. 8",
        "the frame and the entry of the table",
        &["crates/base/wire/src/soc/plain.rs", "crates/protocols/soc/src/table.rs"],
    ),
    Original::missing(
        "Fig. 9",
        "the branch by EtherType in a FreeBSD kernel",
        "a diagram of code in FreeBSD 3.4; ours runs on Linux",
    ),
    Original::defined("Fig. 10", "the testbed", &["studies/socps/good-tcp.toml"]),
    Original::defined(
        "Table 3",
        "environments",
        &[
            "studies/socps/good-tcp.toml",
            "studies/socps/bad-tcp.toml",
            "studies/socps/moving-tcp.toml",
        ],
    ),
    Original::measured("Table 4", "time of forwarding a packet", &["SOC-8"]),
    Original::drawn("Fig. 11", "throughput over time, FIFO", &["fig11"], &["SOC-1"]),
    Original::drawn("Fig. 12", "throughput over time, SoCPS", &["fig12"], &["SOC-1"]),
    Original::drawn("Fig. 13", "totals of hosts, TCP, all good", &["fig13"], &["SOC-1"]),
    Original::drawn("Fig. 14", "totals by scheme, TCP, one host bad", &["fig14"], &["SOC-2"]),
    Original::drawn("Fig. 15", "throughput of voice, all good", &["fig15"], &["SOC-3"]),
    Original::drawn("Fig. 16", "totals of voice, one host bad", &["fig16"], &["SOC-4"]),
    Original::drawn(
        "Fig. 17",
        "total over the number of hosts, constant rate",
        &["fig17"],
        &["SOC-5"],
    ),
    Original::drawn("Fig. 18", "totals of voice and TCP", &["fig18"], &["SOC-6"]),
    Original::drawn("Fig. 19", "SoC of a host that walks", &["fig19"], &["SOC-7"]),
    Original::drawn("Fig. 20", "throughput of the hosts meanwhile", &["fig20"], &["SOC-7"]),
    Original::drawn("Fig. 21", "totals for both intervals of reports", &["fig21"], &["SOC-7"]),
    Original::drawn("Fig. 22", "throughput over SoC", &["fig22"], &["SOC-9"]),
    Original::drawn("Fig. 23", "loss over SoC", &["fig23"], &["SOC-9"]),
];
