//! How many partitions each worker should own; pure.

/// The number of partitions for the worker `me`, of those that live, each given with the number that it owns now.
///
/// All are given as many, or one more. The larger shares go to those that own the most (of equal ones, to the lower number), so that
/// as few partitions as possible change their owner. All workers that see the same come to the same shares.
pub(super) fn share(me: i64, owned: &[(i64, usize)], partitions: usize) -> usize {
    let mut ranks = owned.to_vec();
    ranks.sort_by_key(|(id, owned)| (std::cmp::Reverse(*owned), *id));
    let Some(rank) = ranks.iter().position(|(id, _)| *id == me) else { return 0 };
    partitions / ranks.len() + usize::from(rank < partitions % ranks.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn partitions_go_to_newcomers_and_as_few_as_possible_move() {
        for (owned, partitions, wanted) in [
            (&[(1, 0)][..], 256, &[256][..]),
            (&[(1, 256), (2, 0)], 256, &[128, 128]),
            (&[(1, 128), (2, 128), (3, 0)], 256, &[86, 85, 85]),
            (&[(1, 2), (2, 2), (3, 0)], 4, &[2, 1, 1]),
            (&[(1, 1), (2, 2), (3, 0)], 4, &[1, 2, 1]),
            (&[(1, 0), (2, 0), (3, 0)], 2, &[1, 1, 0]),
            (&[(7, 86), (9, 85)], 256, &[128, 128]),
        ] {
            let shares: Vec<usize> = owned.iter().map(|(id, _)| share(*id, owned, partitions)).collect();
            assert_eq!(shares, wanted, "{owned:?}");
        }
        assert_eq!(share(5, &[(1, 2)], 4), 0, "no worker of this crawl");
    }

    proptest! {
        #[test]
        fn shares_are_even_and_sum_up(counts in prop::collection::vec(0_usize..40, 1..9), free in 0_usize..40) {
            let owned: Vec<(i64, usize)> = (0..).zip(counts).collect();
            let partitions = owned.iter().map(|(_, count)| count).sum::<usize>() + free;
            let shares: Vec<usize> = owned.iter().map(|(id, _)| share(*id, &owned, partitions)).collect();
            prop_assert_eq!(shares.iter().sum::<usize>(), partitions);
            let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
            prop_assert!(most - least <= 1);
            // Even shares take at least as much from those that own more, whoever gets the larger ones: each worker keeps `ceil` at most,
            // and only so many keep that much.
            let moved: usize = owned.iter().zip(&shares).map(|((_, has), share)| has.saturating_sub(*share)).sum();
            let (floor, larger) = (partitions / owned.len(), partitions % owned.len());
            let above = owned.iter().filter(|(_, has)| *has > floor).count();
            let least_moved: usize = owned.iter().map(|(_, has)| has.saturating_sub(floor)).sum::<usize>() - above.min(larger);
            prop_assert_eq!(moved, least_moved);
        }
    }
}
