//! Configuration of the remedy, and what the paper leaves open of it.

/// Inference of the number of lost ACKs from an advance of k segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// As Hashimoto et al. 2008 write: the receiver acknowledges every segment, and an advance
    /// of k >= 2 counts k lost ACKs. A delayed-ACK receiver then seems to lose ACKs always.
    Literal,
    /// ceil(k/b) - 1, with `b` the most frequent recent advance. Counts nothing while the
    /// advances are not multiples of one stride (GRO, stretch ACKs).
    Learnt,
    /// By [`crate::AckEvent::echo_gap`] whatever the stride; as [`Stride::Learnt`] where that is
    /// `None`.
    /// A gap counts as many ACKs as it holds advances of the size that is usual without a gap.
    Timestamps,
}

/// Part of the inner algorithm's own reduction that a round with lost ACKs asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// All of it, as for a lost segment: the paper's.
    Whole,
    /// The smoothed share of lost ACKs, so that an algorithm that halves goes to `1 - share / 2` of
    /// its window (RFC 8257 section 3.3, with lost ACKs in place of marked bytes).
    Share,
}

/// Time of the decision whether a round's count means congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// The end of the round. The paper reacts "where the number of lost ACKs observed in 1 RTT is
    /// at least the threshold": a number observed in an RTT is complete when the RTT is over, and
    /// "is at least" compares a sum, where "reaches" would name a moment. One decision per RTT
    /// then needs no rule of its own.
    #[default]
    RoundEnd,
    /// The ACK with which the count reaches the threshold: the other reading. The paper has no
    /// rule for the rest of that RTT; here it has no second reaction.
    Count,
}

impl Decision {
    /// Every time, and its name.
    pub const ALL: [(&'static str, Self); 2] =
        [("round-end", Self::RoundEnd), ("count", Self::Count)];
}

/// ACKs that are not counted, and rounds without reaction, because holes in the data, not lost
/// ACKs, may explain the advances. The paper names none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exclusions {
    /// ACKs that arrive in recovery, end it, or cover a retransmission.
    pub recovery: bool,
    /// ACKs over data that was SACKed before.
    pub sacked: bool,
    /// The first ACK that advances after a timeout.
    pub timeout: bool,
    /// Rounds with a data loss, a timeout or a mark, which the algorithm already answered.
    pub data_loss: bool,
}

impl Exclusions {
    /// No exclusion: the paper's words.
    pub const NONE: Self =
        Self { recovery: false, sacked: false, timeout: false, data_loss: false };
    /// Every exclusion.
    pub const ALL: Self = Self { recovery: true, sacked: true, timeout: true, data_loss: true };
    /// Every single exclusion, and its name.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("recovery", Self { recovery: true, ..Self::NONE }),
        ("sacked", Self { sacked: true, ..Self::NONE }),
        ("timeout", Self { timeout: true, ..Self::NONE }),
        ("data-loss", Self { data_loss: true, ..Self::NONE }),
    ];

    /// The exclusions of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            recovery: self.recovery || other.recovery,
            sacked: self.sacked || other.sacked,
            timeout: self.timeout || other.timeout,
            data_loss: self.data_loss || other.data_loss,
        }
    }

    /// Names of these exclusions, in the order of [`Exclusions::NAMES`].
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(_, one)| self.and(*one) == self).map(|(name, _)| name)
    }
}

/// Options of a connection that replace those of the named configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckLossOptions {
    /// As [`AckLossConfig::threshold`].
    pub threshold: u64,
    /// As [`AckLossConfig::decision`].
    pub decision: Decision,
    /// As [`AckLossConfig::pause`]; `None` for that of the named configuration.
    pub pause: Option<bool>,
    /// As [`AckLossConfig::exclude`]; `None` for those of the named configuration.
    pub exclude: Option<Exclusions>,
}

impl AckLossOptions {
    /// Options that leave every named configuration as it is.
    pub const DEFAULT: Self =
        Self { threshold: 1, decision: Decision::RoundEnd, pause: None, exclude: None };
}

/// The remedy's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckLossConfig {
    /// Inference of lost ACKs.
    pub stride: Stride,
    /// `thresh_ack_losses` of the paper: lost ACKs in a round that mean congestion. Zero is one.
    pub threshold: u64,
    /// Size of the reaction to them.
    pub response: Response,
    /// Time of the decision.
    pub decision: Decision,
    /// Whether the round after one with a reaction has none. ACKs that were dropped before the
    /// reaction took effect are missing in that round, too. The paper has no such pause.
    pub pause: bool,
    /// ACKs and rounds that do not count.
    pub exclude: Exclusions,
}

impl AckLossConfig {
    /// Every configuration that has a name, in the order in which names are listed.
    pub const ALL: [Self; 4] = [
        Self::named(Stride::Learnt, Response::Whole),
        Self::named(Stride::Literal, Response::Whole),
        Self::named(Stride::Timestamps, Response::Whole),
        Self::named(Stride::Learnt, Response::Share),
    ];

    /// The literal configuration has no exclusion and no pause, as the paper names none. Ours
    /// have all.
    const fn named(stride: Stride, response: Response) -> Self {
        let (pause, exclude) = match stride {
            Stride::Literal => (false, Exclusions::NONE),
            Stride::Learnt | Stride::Timestamps => (true, Exclusions::ALL),
        };
        Self { stride, threshold: 1, response, decision: Decision::RoundEnd, pause, exclude }
    }

    /// This configuration with the options of a connection.
    #[must_use]
    pub fn with(self, options: AckLossOptions) -> Self {
        let AckLossOptions { threshold, decision, pause, exclude } = options;
        Self {
            threshold,
            decision,
            pause: pause.unwrap_or(self.pause),
            exclude: exclude.unwrap_or(self.exclude),
            ..self
        }
    }

    /// Prefix of the inner algorithm's name (with `+`).
    pub const fn prefix(self) -> &'static str {
        match (self.response, self.stride) {
            (Response::Share, _) => "ack-loss-gentle",
            (_, Stride::Literal) => "ack-loss-literal",
            (_, Stride::Learnt) => "ack-loss",
            (_, Stride::Timestamps) => "ack-loss-timestamps",
        }
    }
}

impl Default for AckLossConfig {
    fn default() -> Self {
        Self::named(Stride::Learnt, Response::Whole)
    }
}
