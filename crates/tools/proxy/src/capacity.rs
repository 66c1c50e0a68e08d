//! Capacity that is reserved for targets.

use crate::flow::Owner;
use fairwave_units::BitRate;
use std::collections::BTreeMap;

/// Targets with reserved capacity. A target that several flows share is reserved once, until the
/// last of them has released it.
#[derive(Debug, Default)]
pub(crate) struct Reserved {
    targets: BTreeMap<Owner, Shared>,
    /// Sum of the targets, in bits per second.
    total: u64,
}

#[derive(Debug)]
struct Shared {
    rate: BitRate,
    flows: usize,
}

impl Reserved {
    /// Reserves a target for one more flow; `false` if the target is new and `capacity` is too
    /// small.
    pub(crate) fn take(&mut self, owner: Owner, rate: BitRate, capacity: Option<BitRate>) -> bool {
        if let Some(shared) = self.targets.get_mut(&owner) {
            shared.flows += 1;
            return true;
        }
        let total = self.total.saturating_add(rate.0);
        if capacity.is_some_and(|capacity| total > capacity.0) {
            return false;
        }
        self.total = total;
        self.targets.insert(owner, Shared { rate, flows: 1 });
        true
    }

    /// Releases the reservation of one flow.
    pub(crate) fn give(&mut self, owner: Owner) {
        let Some(shared) = self.targets.get_mut(&owner) else { return };
        shared.flows -= 1;
        if shared.flows == 0 {
            self.total = self.total.saturating_sub(shared.rate.0);
            self.targets.remove(&owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_target_is_reserved_once_and_until_its_last_flow_ends() {
        let mut reserved = Reserved::default();
        let (rate, capacity) = (BitRate::mbps(4), Some(BitRate::mbps(9)));
        let host = Owner::Host([192, 0, 2, 1].into(), 0);
        assert!(reserved.take(host, rate, capacity) && reserved.take(host, rate, capacity));
        assert!(reserved.take(Owner::Flow(1, 0), rate, capacity));
        assert!(!reserved.take(Owner::Flow(2, 0), rate, capacity));
        reserved.give(host);
        assert!(!reserved.take(Owner::Flow(2, 0), rate, capacity));
        reserved.give(host);
        assert!(reserved.take(Owner::Flow(2, 0), rate, capacity));
        reserved.give(Owner::Flow(1, 0));
        reserved.give(Owner::Flow(2, 0));
        assert_eq!((reserved.total, reserved.targets.len()), (0, 0));
        assert!(reserved.take(Owner::Flow(3, 0), rate, None));
    }
}
