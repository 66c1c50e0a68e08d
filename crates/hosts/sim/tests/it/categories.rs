//! Saturating sources of several access categories at one radio.

use crate::common::{AP, flow, world};
use fairwave_dot11::{AccessCategory, Edca, Standard};
use fairwave_sim::run;
use fairwave_sim::world::{Flow, SaturateFlow, Traffic, World};
use fairwave_trace::{Discard, NodeId};
use fairwave_units::{BitRate, Duration};

/// One access point that keeps flows of these categories saturated to its one station.
fn goodputs(categories: &[AccessCategory]) -> Vec<f64> {
    let mut world: World = world(Standard::A, 54, 1, Duration::ZERO);
    let phy = world.cells[0].phy;
    world.cells[0].edca = Some(Edca::defaults(phy));
    let flow = |(i, category): (usize, &AccessCategory)| {
        let traffic = Traffic::Saturate(SaturateFlow { payload_bytes: 1000 });
        Flow { category: *category, ..flow(&format!("{i}"), AP, NodeId(1), traffic) }
    };
    world.flows = categories.iter().enumerate().map(flow).collect();
    let outcome = run(&world, &mut Discard, &mut |_| {}).expect("the world is right");
    outcome.flows.iter().map(|flow| BitRate::as_mbps_f64(flow.goodput)).collect()
}

/// Frames of a less urgent category do not take the places of an urgent one's: with AIFSN 2 and
/// CWmin 3 against AIFSN 7 and CWmin 15, voice has by far the most of the medium, as it is at
/// every moment that it contends.
#[test]
fn a_background_flow_keeps_no_voice_from_its_queue() {
    let voice_alone = goodputs(&[AccessCategory::Voice])[0];
    let both = goodputs(&[AccessCategory::Background, AccessCategory::Voice]);
    assert!(both[1] > 0.9 * voice_alone, "{both:?} of {voice_alone}");
}
