//! Max-min fairness (Bertsekas and Gallager, Data Networks, section 6.5.2).

/// Max-min fair shares of `capacity`: no member gets more than it wants, and none less than another
/// unless it wants no more. The indivisible rest is left.
pub(crate) fn max_min(capacity: u64, wanted: &[u64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|index| wanted[*index]);
    let mut shares = vec![0; wanted.len()];
    let mut left = capacity;
    for (served, index) in order.into_iter().enumerate() {
        let fair = left / (wanted.len() - served) as u64;
        shares[index] = wanted[index].min(fair);
        left -= shares[index];
    }
    debug_assert_eq!(shares.iter().sum::<u64>() + left, capacity, "{shares:?} of {wanted:?}");
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        assert_eq!(max_min(10, &[2, 8, 10]), [2, 4, 4]);
        assert_eq!(max_min(10, &[5, 1, 2]), [5, 1, 2]);
        assert_eq!(max_min(0, &[5, 1]), [0, 0]);
        assert_eq!(max_min(7, &[]), [0; 0]);
    }

    proptest! {
        #[test]
        fn nobody_can_get_more_without_taking_from_a_poorer_one(
            capacity in 0..1_000_000u64, wanted in prop::collection::vec(0..500_000u64, 1..9),
        ) {
            let shares = max_min(capacity, &wanted);
            let given: u64 = shares.iter().sum();
            prop_assert!(given <= capacity);
            let maximum = shares.iter().max().unwrap();
            for (share, wanted) in shares.iter().zip(&wanted) {
                prop_assert!(share <= wanted);
                // Rounding leaves one at most between equals.
                prop_assert!(share == wanted || share + 1 >= *maximum);
            }
            let hungry = shares != wanted;
            prop_assert!(!hungry || capacity - given < wanted.len() as u64);
        }
    }
}
