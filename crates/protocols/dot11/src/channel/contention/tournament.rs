//! The smallest of many numbers, of which one changes at a time or all at once.

/// A binary tree over the leaves; each inner node is the lesser of its two children. `nodes[1]`
/// is the root, the children of `i` are `2 i` and `2 i + 1`, and the leaves come last.
#[derive(Debug)]
pub(super) struct Tournament {
    leaves: usize,
    nodes: Vec<u64>,
}

/// The number of a leaf that does not take part.
pub(super) const OUT: u64 = u64::MAX;

impl Tournament {
    /// A tree of `count` leaves, none of which takes part.
    pub(super) fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two();
        Self { leaves, nodes: vec![OUT; 2 * leaves] }
    }

    /// The smallest number, [`OUT`] without a participant.
    pub(super) fn least(&self) -> u64 {
        self.nodes[1]
    }

    /// Changes one leaf; O(log n).
    pub(super) fn set(&mut self, leaf: usize, number: u64) {
        let mut node = self.leaves + leaf;
        self.nodes[node] = number;
        while node > 1 {
            node /= 2;
            let least = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
            if self.nodes[node] == least {
                return;
            }
            self.nodes[node] = least;
        }
    }

    /// Changes a leaf without the nodes above it: [`Tournament::replay`] must follow.
    pub(super) fn put(&mut self, leaf: usize, number: u64) {
        self.nodes[self.leaves + leaf] = number;
    }

    /// Plays all matches anew; O(n).
    pub(super) fn replay(&mut self) {
        for node in (1..self.leaves).rev() {
            self.nodes[node] = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
        }
    }

    /// Calls `found` with every leaf whose number is at most `limit`, in order.
    pub(super) fn up_to(&self, limit: u64, mut found: impl FnMut(usize)) {
        let mut node = 1;
        loop {
            if self.nodes[node] <= limit && self.nodes[node] != OUT {
                if node < self.leaves {
                    node *= 2;
                    continue;
                }
                found(node - self.leaves);
            }
            // Up as long as this is a right child, then over to the right one.
            node >>= node.trailing_ones();
            if node == 0 {
                return;
            }
            node += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_least_and_those_up_to_a_limit_are_found(
            count in 1_usize..40,
            changes in prop::collection::vec((0_usize..40, 0_u64..30, any::<bool>()), 0..60),
            limit in 0_u64..30,
        ) {
            let mut tree = Tournament::new(count);
            let mut plain = vec![OUT; count];
            for (leaf, number, at_once) in changes {
                let number = if number == 0 { OUT } else { number };
                plain[leaf % count] = number;
                if at_once {
                    tree.set(leaf % count, number);
                } else {
                    tree.put(leaf % count, number);
                    tree.replay();
                }
            }
            prop_assert_eq!(tree.least(), plain.iter().copied().min().unwrap_or(OUT));
            let mut found = Vec::new();
            tree.up_to(limit, |leaf| found.push(leaf));
            let expected: Vec<usize> = (0..count).filter(|leaf| plain[*leaf] <= limit).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
