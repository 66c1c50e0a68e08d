//! Scenario keys for the TCP options that `fairwave-tcp` declares.

use crate::diagnostic::Refusal;
use crate::keys::{Keyed, Kind, Part, keys, reference, written};
use crate::kinds::{boolean, choice, count, counted, list, size, within};
use crate::limits::NANOSECOND;
use crate::reader::{self, Read, Reader};
use crate::value::{Data, Value};
use core::ops::RangeInclusive;
use fairwave_cc::{Decision, Exclusions};
use fairwave_tcp::{
    Config, ConfigOption, DelayedAck, OptionField, OptionKind, Profile, ReductionBound,
};
use fairwave_units::Duration;
use serde_json::{Value as Json, json};

/// A part of a table that stands for the keys of all TCP options.
pub(crate) struct Options {
    /// Defaults: values of keys that the scenario does not set.
    pub(crate) given: Config,
    /// Stack of the connection.
    pub(crate) stack: &'static Profile,
}

impl Part<Config> for Options {
    fn go(self, r: &Reader<'_>, _: &'static str, _: &str, this: Option<&Config>) -> Config {
        let mut config = self.given;
        for option in Config::KEYS {
            go(option, r, this, &mut config);
        }
        if config.delayed_ack.every <= 1 {
            // Without delayed ACKs the timeout still bounds the ACK that follows a read. The
            // scenario cannot set it beside "off", so the stack decides it.
            config.delayed_ack.timeout = (self.stack.config)().delayed_ack.timeout;
        }
        config
    }
}

/// Reads, writes or describes one option.
fn go(option: &ConfigOption, r: &Reader<'_>, this: Option<&Config>, config: &mut Config) {
    let pass = Pass { option, r, this };
    match &option.kind {
        OptionKind::Switch(at) => pass.go(at, boolean(), config),
        OptionKind::Count(at, range) => pass.go(at, bounded(range, count), config),
        OptionKind::Segments(at, range) => pass.go(at, bounded(range, segments), config),
        OptionKind::SegmentsOr(at, word, range) => {
            pass.go(at, bounded(range, segments).or_word(word), config);
        }
        OptionKind::Size(at, range) => pass.go(at, bounded(range, size), config),
        OptionKind::SizeOr(at, word, range) => {
            pass.go(at, bounded(range, size).or_word(word), config);
        }
        OptionKind::Time(at, range) => pass.go(at, bounded(range, within), config),
        OptionKind::TimeOr(at, word, range) => {
            pass.go(at, bounded(range, within).or_word(word), config);
        }
        OptionKind::Acks(at) => pass.go(at, delayed_acks(), config),
        OptionKind::Bound(at) => pass.go(at, bounds(), config),
        OptionKind::SwitchOr(at, word) => pass.go(at, boolean().or_word(word), config),
        OptionKind::Decision(at) => pass.go(at, choice(&Decision::ALL), config),
        OptionKind::ExclusionsOr(at, word) => pass.go(at, exclusions().or_word(word), config),
    }
}

/// An option, with the state of a pass over the keys.
struct Pass<'a> {
    option: &'a ConfigOption,
    r: &'a Reader<'a>,
    this: Option<&'a Config>,
}

impl Pass<'_> {
    fn go<T: Clone + 'static>(&self, at: &OptionField<T>, kind: Kind<T>, config: &mut Config) {
        let Self { option, r, this } = self;
        let entry = kind.or((at.get)(config));
        let value = entry.go(r, option.name, option.sentence(), this.map(at.get).as_ref());
        (at.set)(config, value);
    }
}

fn bounded<T: Copy, K>(range: &RangeInclusive<T>, kind: impl Fn(T, T) -> K) -> K {
    kind(*range.start(), *range.end())
}

fn segments(min: u32, max: u32) -> Kind<u32> {
    counted("segments", min, max)
}

fn bounds() -> Kind<ReductionBound> {
    choice(&ReductionBound::ALL)
}

/// A list of names; an empty one has no exclusion.
fn exclusions() -> Kind<Exclusions> {
    let read = |value: &Value| -> Read<Vec<Exclusions>> {
        let Data::List(values) = &value.data else {
            return Err(Refusal::new("this must be a list of names")
                .help("write ack_loss_exclude = [\"recovery\", \"sacked\"]"));
        };
        values.iter().map(reader::choice(&Exclusions::NAMES)).collect()
    };
    let item = |one: &Exclusions| json!(reader::word(&Exclusions::NAMES, one));
    let items = || {
        let words = Exclusions::NAMES.map(|(name, _)| name);
        json!({ "type": "string", "enum": words })
    };
    list(read, item, items).map(
        |all| all.into_iter().fold(Exclusions::NONE, Exclusions::and),
        |all| {
            let of = |name| Exclusions::NAMES.iter().find(|(known, _)| *known == name);
            all.names().filter_map(of).map(|(_, one)| *one).collect()
        },
    )
}

keys! {
    /// Rule for delayed acknowledgements.
    struct AckDelay [Eq] |r| {
        /// At the latest with this many segments.
        every: u32 = count(2, 64).or(Self::USUAL.every);
        /// At the latest after this time.
        timeout: Duration =
            within(NANOSECOND, Duration::from_millis(500)).or(Self::USUAL.timeout);
    }
}

impl AckDelay {
    const USUAL: Self = Self { every: 2, timeout: Duration::from_millis(200) };
}

impl From<AckDelay> for DelayedAck {
    fn from(AckDelay { every, timeout }: AckDelay) -> Self {
        Self { every, timeout }
    }
}

fn delayed_acks() -> Kind<DelayedAck> {
    let read = |value: &Value| match &value.data {
        Data::Table(_) => AckDelay::nested(value, &(), "").map(DelayedAck::from),
        Data::Text(text) if text == "on" => Ok(AckDelay::USUAL.into()),
        Data::Text(text) if text == "off" => {
            Ok(DelayedAck { every: 1, timeout: AckDelay::USUAL.timeout })
        }
        _ => Err(Refusal::new("this must be \"on\", \"off\" or a table")
            .help("write delayed_ack = { every = 2, timeout = \"200 ms\" }")),
    };
    let write = |&DelayedAck { every, timeout }: &DelayedAck| match every {
        0 | 1 => json!("off"),
        _ => Json::Object(written(&AckDelay { every, timeout })),
    };
    Kind::new(read, write, |definitions| {
        let words = json!({ "type": "string", "enum": ["on", "off"] });
        json!({ "anyOf": [words, reference::<AckDelay>(definitions)] })
    })
}
