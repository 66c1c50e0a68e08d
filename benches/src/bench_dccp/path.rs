//! A path, and its scenario.

use std::fmt::Write;

/// A path, and whether the flows share it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Path {
    pub(super) rtt_ms: u32,
    /// Probability that a packet towards the receiver is lost.
    pub(super) loss: f64,
    pub(super) is_shared: bool,
}

/// Rate of each path.
pub(super) const MBPS: u32 = 20;
/// Length of a run, and of its part that is not measured, in seconds.
pub(super) const RUN_S: u32 = 25;
pub(super) const WARM_UP_S: u32 = 5;
/// Application data of a packet of DCCP.
const DCCP_BYTES: u32 = 1_400;
/// The flows, in the order of the table.
pub(super) const FLOWS: [&str; 3] = ["ccid3", "reno", "cubic"];

impl Path {
    /// The scenario: three wires with a flow each, or one wire with all three.
    pub(super) fn scenario(self) -> String {
        let Self { rtt_ms, loss, is_shared } = self;
        let mut text = format!(
            "title = \"CCID 3 beside TCP: {rtt_ms} ms, loss {loss}\"\n\
             duration = \"{RUN_S} s\"\nwarm_up = \"{WARM_UP_S} s\"\n\
             record = {{ sample_every = \"1 s\", drops = false }}\n\
             emulate = {{ kernel_flows = [\"*\"], lateness_limit = \"5 ms\" }}\n"
        );
        // Rate times round trip, but not less than a burst.
        let queue = (MBPS * 1_000 * rtt_ms / 12_000).max(20);
        let wire = |from: &str, to: &str| {
            format!(
                "[[node]]\nname = \"{from}\"\nkind = \"host\"\n\
                 [[node]]\nname = \"{to}\"\nkind = \"host\"\n\
                 [[link]]\nends = [\"{from}\", \"{to}\"]\nrate = \"{MBPS} Mbps\"\n\
                 delay = \"{} ms\"\nqueue = \"{queue} packets\"\nloss = {loss:?}\nloss_back = 0\n",
                rtt_ms / 2
            )
        };
        if is_shared {
            text += &wire("from", "to");
        }
        for name in FLOWS {
            let (from, to) = match is_shared {
                true => ("from".to_owned(), "to".to_owned()),
                false => (format!("{name}-from"), format!("{name}-to")),
            };
            if !is_shared {
                text += &wire(&from, &to);
            }
            let _ = write!(
                text,
                "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{}",
                match name {
                    "ccid3" => format!(
                        "transport = \"dccp\"\ntraffic = \"cbr\"\npayload = \"{DCCP_BYTES} B\"\n\
                         rate = \"{} Mbps\"\n",
                        2 * MBPS
                    ),
                    tcp => format!("stack = \"linux-6\"\ncongestion_control = \"{tcp}\"\n"),
                }
            );
        }
        text
    }
}
