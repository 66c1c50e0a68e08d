//! Meanings of the figures of runs.

/// Meaning of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The part of a run that has it, the first word of its full name; empty for the whole run.
    pub part: &'static str,
    /// Its name, the last word of its full name.
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
}

impl About {
    /// Its full name, with `NAME` for that of the part: `flow.NAME.goodput_mbps`.
    pub fn key(&self) -> String {
        match self.part {
            "" => self.name.to_owned(),
            part => format!("{part}.NAME.{}", self.name),
        }
    }

    /// Whether it is called `name`: by its last word, or in full with any name of the part.
    pub fn is_called(&self, name: &str) -> bool {
        let is_in_part = || {
            let rest = name.strip_prefix(self.part).and_then(|rest| rest.strip_prefix('.'));
            let named = rest.and_then(|rest| rest.rsplit_once('.'));
            named.is_some_and(|(_, figure)| figure == self.name)
        };
        name == self.name || (!self.part.is_empty() && is_in_part())
    }
}

const fn about(part: &'static str, name: &'static str, about: &'static str) -> About {
    About { part, name, about }
}

/// Every figure of [`super::metrics`], in its order.
pub const ABOUT: &[About] = &[
    about("", "goodput_mbps", "Sum of the flows' goodput."),
    about("", "up_mbps", "Goodput of the flows towards the access point together."),
    about("", "down_mbps", "Goodput of the flows from the access point together."),
    about("", "jain", "Jain's index of the flows' goodput: 1 if all are equal."),
    about(
        "",
        "starved_flows",
        "Flows with less than a tenth of an equal share that would send more.",
    ),
    about("", "drops", "Packets that queues, radios, links and routers dropped."),
    about("flow", "goodput_mbps", "Mean rate of delivery to the application."),
    about("flow", "delay_mean_ms", "Mean one-way delay of the delivered data."),
    about("flow", "delay_median_ms", "Median of the one-way delay."),
    about("flow", "delay_p90_ms", "90th percentile of the one-way delay."),
    about("flow", "delay_p95_ms", "95th percentile of the one-way delay."),
    about("flow", "delay_p99_ms", "99th percentile of the one-way delay."),
    about("flow", "delay_p999_ms", "99.9th percentile of the one-way delay."),
    about("flow", "rtt_mean_ms", "Mean round-trip time of a ping."),
    about("flow", "rtt_median_ms", "Median round-trip time of a ping."),
    about("flow", "rtt_p95_ms", "95th percentile of the round-trip time of a ping."),
    about("flow", "rtt_p99_ms", "99th percentile of the round-trip time of a ping."),
    about("flow", "jitter_ms", "Jitter of the datagrams at the receiver (RFC 3550)."),
    about("flow", "lost_percent", "Datagrams that did not arrive, of those sent."),
    about("flow", "sent_packets", "Segments or datagrams sent, retransmissions included."),
    about("flow", "retransmissions", "Retransmitted segments."),
    about("flow", "timeouts", "Expiries of the retransmission timer."),
    about("flow", "srtt_end_ms", "Smoothed round-trip time at the end of the run."),
    about("flow", "longest_silence_ms", "Longest time between two deliveries."),
    about("flow", "completion_ms", "Time from a sized flow's start to its last byte."),
    about("flow", "page_mean_ms", "Mean time in which a page of the web is fetched."),
    about("flow", "page_p95_ms", "95th percentile of the time of a page."),
    about("flow", "freezes", "Times at which the viewer's picture froze."),
    about("station", "airtime_percent", "Share of the time that the radio transmits."),
    about("station", "failure_percent", "Attempts that were not acknowledged."),
    about("station", "collision_percent", "Attempts that failed and overlapped another one."),
    about("station", "retry_drops", "Data frames dropped at the retry limit."),
    about("pair", "airtime_percent", "Share of the time for frames from one radio to another."),
    about("pair", "rate_mean_mbps", "Mean data rate of its frames."),
    about("pair", "mcs_mean", "Mean index of its modulation and coding schemes."),
    about("pair", "streams_mean", "Mean number of spatial streams."),
    about("pair", "ampdu_mean_mpdus", "Mean number of MPDUs in an A-MPDU."),
    about("pair", "retry_percent", "MPDUs that were retries."),
    about("queue", "mean_packets", "Mean number of packets waiting, over time."),
    about("queue", "peak_packets", "Maximum number of packets waiting."),
    about("queue", "drops_queue_full", "Packets dropped for lack of room."),
    about("queue", "drops_aqm", "Packets dropped by active queue management."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_called_by_its_last_word_or_in_full() {
        let called = |name: &str| ABOUT.iter().filter(|one| one.is_called(name)).count();
        assert_eq!(called("goodput_mbps"), 2, "of the whole run, and of a flow");
        for name in ["jain", "delay_p99_ms", "flow.up.delay_p99_ms", "pair.ap>sta1.mcs_mean"] {
            assert_eq!(called(name), 1, "{name}");
        }
        for name in ["flow.delay_p99_ms", "queue.ap.delay_p99_ms", ".jain", "flow", ""] {
            assert_eq!(called(name), 0, "{name}");
        }
    }
}
