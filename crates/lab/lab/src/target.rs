//! Target rates: requested against achieved ones, and those that can be admitted.
//!
//! The measures are those of Ando, Murase and Oguchi, section 6.1. Rates are of payload
//! delivered to the application, in bits per second.

use fairwave_units::{BitRate, Bytes, Duration};

/// EB / n: the share of each of `senders` of the effective bandwidth if all had the same.
pub fn fair_share(effective: BitRate, senders: u32) -> BitRate {
    BitRate(effective.0 / u64::from(senders.max(1)))
}

/// NRT: the target as a part of the effective bandwidth; `None` where there is none.
pub fn normalized(target: BitRate, effective: BitRate) -> Option<f64> {
    (effective.0 > 0).then(|| target.0 as f64 / effective.0 as f64)
}

/// AVR: the share of bins in which the target was reached, the first one left out because flows
/// begin in it; `None` where there are no others.
///
/// A bin reaches the target with at least `1 - tolerance` times its rate; the paper does not
/// speak of a tolerance, so its test is with zero.
pub fn achievement(bins_bps: &[u64], target: BitRate, tolerance: f64) -> Option<f64> {
    let bins = bins_bps.get(1..).filter(|bins| !bins.is_empty())?;
    let enough = target.0 as f64 * (1.0 - tolerance);
    let reached = bins.iter().filter(|bps| **bps as f64 >= enough).count();
    Some(reached as f64 / bins.len() as f64)
}

/// The bandwidth of one TCP upload in a cell without losses and collisions. A segment takes `data`,
/// and the access point's acknowledgement of `acks_every` of them takes `ack`, both with access
/// time and link-layer acknowledgement.
///
/// More senders do not change it much, since as many acknowledgements are needed for the same
/// data. Targets can be admitted against it before anything is measured.
pub fn effective(payload: Bytes, data: Duration, ack: Duration, acks_every: u32) -> BitRate {
    let every = u64::from(acks_every.max(1));
    let round = Duration::from_nanos(data.as_nanos() * every + ack.as_nanos());
    BitRate::over(payload.0 * every, round)
}

/// The rest of the effective bandwidth beyond `targets`, each with its margin. `None` if they can
/// not all be met, so that the last of them should be refused.
///
/// The rest is all that senders without a target will have.
pub fn admits(targets: &[BitRate], margin: f64, effective: BitRate) -> Option<BitRate> {
    let sum: f64 = targets.iter().map(|target| target.0 as f64 * margin).sum();
    let left = effective.0 as f64 - sum;
    (left >= 0.0).then_some(BitRate(left as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's: 25 Mbps and five terminals make 5 Mbps, a fifth.
    #[test]
    fn a_fair_share_is_a_fifth_of_five() {
        let effective = BitRate::mbps(25);
        assert_eq!(fair_share(effective, 5), BitRate::mbps(5));
        assert_eq!(normalized(BitRate::mbps(5), effective), Some(0.2));
        assert_eq!(
            (fair_share(effective, 0), normalized(effective, BitRate(0))),
            (effective, None)
        );
    }

    /// 120 s in bins of 5 s are 24, of which 23 count: here 20 of them reach 5 Mbps exactly, two
    /// miss it by 2 %, one by 20 %.
    #[test]
    fn achievement_is_the_share_of_bins_after_the_first() {
        let mut bins = vec![0];
        bins.extend([5_000_000; 20]);
        bins.extend([4_900_000, 4_900_000, 4_000_000]);
        let avr = |tolerance| achievement(&bins, BitRate::mbps(5), tolerance);
        assert_eq!(avr(0.0), Some(20.0 / 23.0));
        assert_eq!(avr(0.05), Some(22.0 / 23.0));
        assert_eq!(avr(0.25), Some(1.0));
        assert_eq!(achievement(&[1], BitRate(0), 0.0), None);
        assert_eq!(achievement(&[], BitRate(0), 0.0), None);
    }

    /// 802.11g alone at 54 Mbps. DIFS 28 us, 7.5 slots of 9 us; a segment of 1500 bytes in a
    /// frame of 1536: 57 symbols, 254 us with preamble and signal extension; its ACK at 24 Mbps,
    /// 34 us after 10 us: 393.5 us. A TCP ACK of 40 bytes in 76: 3 symbols, 38 us: 177.5 us.
    /// 2 * 1460 bytes in 2 * 393.5 + 177.5 us are 24.22 Mbps.
    #[test]
    fn a_cell_without_losses_has_what_its_exchanges_leave() {
        let (data, ack) = (Duration::from_nanos(393_500), Duration::from_nanos(177_500));
        assert_eq!(effective(Bytes(1460), data, ack, 2), BitRate(24_219_803));
        assert_eq!(effective(Bytes(1460), data, ack, 1), BitRate(20_455_341));
    }

    /// Three targets of 6 Mbps with a margin of 5 % are 18.9 Mbps; a fourth does not fit.
    #[test]
    fn targets_are_admitted_while_their_sum_fits() {
        let six = BitRate::mbps(6);
        assert_eq!(admits(&[six; 3], 1.05, BitRate::mbps(24)), Some(BitRate(5_100_000)));
        assert_eq!(admits(&[six; 4], 1.05, BitRate::mbps(24)), None);
        assert_eq!(admits(&[], 1.05, BitRate(7)), Some(BitRate(7)));
    }
}
