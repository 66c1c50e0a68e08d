//! Options as descriptors show them, for each stack.

use super::*;
use crate::Profile;
use std::collections::BTreeSet;

/// Whether the option of `config` has a legal value, and takes others without touching the rest.
fn is_sound(kind: &OptionKind, config: &Config) -> bool {
    match kind {
        OptionKind::Switch(at) => takes(at, config, !(at.get)(config)),
        OptionKind::SwitchOr(at, _) => {
            [None, Some(true), Some(false)].into_iter().all(|value| takes(at, config, value))
        }
        OptionKind::Count(at, range)
        | OptionKind::Segments(at, range)
        | OptionKind::Size(at, range) => {
            range.contains(&(at.get)(config)) && takes(at, config, *range.end())
        }
        OptionKind::SegmentsOr(at, _, range) | OptionKind::SizeOr(at, _, range) => {
            (at.get)(config).is_none_or(|value| range.contains(&value))
                && [None, Some(*range.end())].into_iter().all(|value| takes(at, config, value))
        }
        OptionKind::Time(at, range) => {
            range.contains(&(at.get)(config)) && takes(at, config, *range.end())
        }
        OptionKind::TimeOr(at, _, range) => {
            (at.get)(config).is_none_or(|value| range.contains(&value))
                && [None, Some(*range.end())].into_iter().all(|value| takes(at, config, value))
        }
        OptionKind::Acks(at) => {
            takes(at, config, DelayedAck { every: 7, timeout: Duration::from_millis(300) })
        }
        OptionKind::Bound(at) => {
            ReductionBound::ALL.iter().all(|(_, bound)| takes(at, config, *bound))
        }
        OptionKind::Decision(at) => Decision::ALL.iter().all(|(_, time)| takes(at, config, *time)),
        OptionKind::ExclusionsOr(at, _) => [None, Some(Exclusions::NONE), Some(Exclusions::ALL)]
            .into_iter()
            .all(|value| takes(at, config, value)),
    }
}

fn takes<T: Copy + PartialEq>(at: &OptionField<T>, config: &Config, value: T) -> bool {
    let mut other = *config;
    (at.set)(&mut other, value);
    let taken = (at.get)(&other) == value;
    (at.set)(&mut other, (at.get)(config));
    taken && other == *config
}

#[test]
fn each_option_has_a_name_of_its_own_and_stacks_choose_legal_values() {
    let mut names = BTreeSet::new();
    for option in Config::KEYS.iter().chain(Config::INNER) {
        assert!(names.insert(option.name), "{} is declared twice", option.name);
        assert!(option.sentence().trim().ends_with('.'), "{:?}", option.sentence());
        for stack in Profile::ALL {
            let config = (stack.config)();
            assert!(is_sound(&option.kind, &config), "{}: {}", stack.name, option.name);
        }
    }
}

#[test]
fn a_sentence_is_the_first_paragraph() {
    let sentence = |name| Config::option(name).expect("it is listed").sentence().trim();
    assert_eq!(sentence("mss"), "Largest segment payload.");
    assert_eq!(sentence("ecn"), "Offer explicit congestion notification (RFC 3168).");
    assert!(Config::option("local_port").is_none(), "ports belong to hosts");
}
