//! Tables 1 and 2 of the paper, its curves, and what must hold for all.

use super::*;
use proptest::prelude::*;

fn named(name: &str) -> Curve {
    let kind = ALL.iter().find(|kind| kind.name == name);
    (kind.unwrap_or_else(|| panic!("no curve {name}")).curve)()
}

fn weights(curve: &Curve, socs: &[f64]) -> Vec<f64> {
    socs.iter().map(|&soc| curve.at(Db(soc))).collect()
}

fn close(found: &[f64], expected: &[f64]) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
    assert!(found.iter().zip(expected).all(near), "{found:?}, not {expected:?}");
    assert_eq!(found.len(), expected.len());
}

#[test]
fn table_1_exactly() {
    let weights = weights(&named("gb-example"), &[2.0, 4.0, 6.0, 8.0]);
    assert_eq!(weights, [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(shares(&weights, AllZero::Nothing), [0.0, 0.0, 50.0, 50.0]);
}

/// Its column of weights is `linear`, its column of shares follows from `upper_step`.
#[test]
fn table_2_under_both_rules() {
    let socs = [1.0, 3.0, 5.0, 9.0];
    let linear = weights(&named("pw-example"), &socs);
    close(&linear, &[0.0, 0.1, 0.5, 1.0]);
    close(&shares(&linear, AllZero::Nothing), &[0.0, 6.25, 31.25, 62.5]);
    let step = weights(&named("pw-example-step"), &socs);
    close(&step, &[0.0, 0.2, 0.8, 1.0]);
    close(&shares(&step, AllZero::Nothing), &[0.0, 10.0, 40.0, 50.0]);
}

#[test]
fn the_curves_of_the_experiments() {
    let socs = [-1.0, 0.0, 2.0, 4.0, 7.0, 10.0, 12.0, 14.0, 30.0];
    let pw = weights(&named("pw"), &socs);
    close(&pw, &[0.0, 0.0, 0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.0]);
    for (name, threshold) in [("gb1", 12.0), ("gb2", 6.0), ("gb3", 1.0)] {
        // "If SoC exceeds D": at D it does not.
        let context = [threshold - 0.01, threshold, threshold + 0.01];
        assert_eq!(weights(&named(name), &context), [0.0, 0.0, 1.0], "{name}");
    }
    assert_eq!(weights(&named("equal"), &[-40.0, 40.0]), [1.0, 1.0]);
}

#[test]
fn a_step_agrees_with_the_lines_at_the_knots() {
    let (line, step) = (named("pw"), named("pw-step"));
    for soc in [0.0, 4.0, 10.0, 14.0] {
        assert_eq!(line.at(Db(soc)), step.at(Db(soc)), "{soc} dB");
    }
    close(&weights(&step, &[0.01, 4.01, 10.01]), &[0.2, 0.8, 1.0]);
}

#[test]
fn a_table_of_ones_own_and_what_is_none() {
    let at = |soc, weight| CurvePoint { soc: Db(soc), weight };
    let curve = Curve::through(&[at(5.0, 0.5), at(15.0, 0.75)], Rule::Linear).unwrap();
    close(&weights(&curve, &[-9.0, 5.0, 9.0, 15.0, 99.0]), &[0.5, 0.5, 0.6, 0.75, 0.75]);
    let error = |knots: &[CurvePoint]| Curve::through(knots, Rule::Linear).unwrap_err().to_string();
    assert_eq!(error(&[]), "a curve needs at least one knot");
    assert_eq!(
        error(&[at(5.0, 0.0), at(5.0, 1.0)]),
        "knot 1 is at 5 dB, not above the one before it: SoC must rise"
    );
    assert_eq!(error(&[at(5.0, 1.5)]), "knot 0 has the weight 1.5, not one from 0 to 1");
    assert!(Curve::through(&[at(f64::NAN, 0.0)], Rule::Linear).is_err());
}

#[test]
fn weights_of_zero_share_nothing_or_evenly() {
    assert_eq!(shares(&[0.0; 4], AllZero::Nothing), [0.0; 4]);
    assert_eq!(shares(&[0.0; 4], AllZero::Equal), [25.0; 4]);
    assert_eq!(shares(&[0.0, 1.0], AllZero::Equal), [0.0, 100.0]);
    assert_eq!(shares(&[], AllZero::Equal), [0.0; 0]);
}

#[test]
fn hysteresis_moves_the_way_up_only() {
    let policies = Policies { hysteresis: Db(1.0), ..Policies::per_host(named("gb2")) };
    let mut counted = None;
    let levels = [7.0, 6.1, 6.0, 6.9, 7.0, 7.1, 6.5, 6.0];
    let weights = levels.map(|soc| {
        let now = policies.play(counted, Db(soc));
        counted = Some(now);
        policies.weight(Class(0), now)
    });
    assert_eq!(weights, [1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
}

#[test]
fn classes_have_curves_of_their_own() {
    let policies = Policies::per_class(vec![named("equal"), named("gb1")]);
    assert_eq!(policies.classes().collect::<Vec<_>>(), [Class(0), Class(1)]);
    let at_10_db = [0, 1, 2].map(|class| policies.weight(Class(class), Db(10.0)));
    assert_eq!(at_10_db, [1.0, 0.0, 1.0]);
}

#[test]
fn weights_are_whole_numbers() {
    for (fraction, whole) in [(0.0, 0), (0.5, 32768), (1.0, 65536), (7.0, 65536), (-1.0, 0)] {
        assert_eq!(Weight::from_fraction(fraction), Weight(whole));
    }
    assert_eq!(Weight::from_fraction(f64::NAN), Weight::ZERO);
    assert_eq!(Weight(16384).fraction(), 0.25);
}

proptest! {
    #[test]
    fn named_curves_never_fall_and_stay_within_bounds(
        which in 0..ALL.len(), a in -50.0f64..50.0, b in -50.0f64..50.0,
    ) {
        let curve = (ALL[which].curve)();
        let (low, high) = (curve.at(Db(a.min(b))), curve.at(Db(a.max(b))));
        prop_assert!(0.0 <= low && low <= high && high <= 1.0, "{}", ALL[which].name);
    }

    #[test]
    fn shares_add_up_and_follow_weights(weights in prop::collection::vec(0.0f64..=1.0, 1..20)) {
        let shares = shares(&weights, AllZero::Equal);
        prop_assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1e-9);
        let ordered = weights.iter().zip(&shares).all(|(w, c)| {
            weights.iter().zip(&shares).all(|(v, d)| w > v || c <= d)
        });
        prop_assert!(ordered, "{weights:?} {shares:?}");
    }

    #[test]
    fn play_stays_within_its_width(
        h in 0.0f64..3.0, socs in prop::collection::vec(-9.0f64..30.0, 1..50),
    ) {
        let policies = Policies { hysteresis: Db(h), ..Policies::per_host(Curve::Equal) };
        let mut counted = None;
        for soc in socs {
            let now = policies.play(counted, Db(soc));
            prop_assert!(now.0 <= soc && soc - now.0 <= h + 1e-9);
            counted = Some(now);
        }
    }
}
