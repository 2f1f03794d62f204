//! A budget that several holders share: each may have what the others leave, and its part of the whole in any case.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What all holders have together.
#[derive(Debug, Default)]
struct Whole {
    most: usize,
    held: AtomicUsize,
    holders: AtomicUsize,
}

/// What one holder has of a budget, in whatever it is counted in. Dropped, it gives that back.
///
/// A holder that asks [`most`](Self::most) for more, and at least once a second for what it has, keeps the whole within the budget: while all of it is
/// held, those that have more than their part shrink by as much as is held too much. Until they do, that is as much as those below their part took since.
///
/// ```
/// use crawler::portion::Portion;
///
/// let one = Portion::whole(100);
/// one.hold(80);
/// let two = one.further();
/// assert_eq!((one.most(), two.most()), (100, 50));
/// two.hold(50);
/// assert_eq!((one.most(), two.most()), (50, 50));
/// one.hold(50);
/// drop(two);
/// assert_eq!(one.most(), 100);
/// ```
#[derive(Debug)]
pub struct Portion {
    whole: Arc<Whole>,
    held: AtomicUsize,
}

impl Portion {
    /// Of a budget of its own.
    pub fn whole(most: usize) -> Self {
        Self::of(Arc::new(Whole { most, ..Whole::default() }))
    }

    /// Of the same budget, for another holder.
    #[must_use]
    pub fn further(&self) -> Self {
        Self::of(Arc::clone(&self.whole))
    }

    fn of(whole: Arc<Whole>) -> Self {
        whole.holders.fetch_add(1, Ordering::AcqRel);
        Self { whole, held: AtomicUsize::new(0) }
    }

    /// Says what the holder has now.
    pub fn hold(&self, held: usize) {
        let before = self.held.swap(held, Ordering::AcqRel);
        // Wraps where it has less than before: the sum is that of all portions.
        self.whole.held.fetch_add(held.wrapping_sub(before), Ordering::AcqRel);
    }

    /// What the holder may have: its part, or what it has with what nobody does, or without what is held too much.
    pub fn most(&self) -> usize {
        let held = self.held.load(Ordering::Acquire);
        let others = self.whole.held.load(Ordering::Acquire).saturating_sub(held);
        self.part().max(self.whole.most.saturating_sub(others))
    }

    /// What each holder may have in any case.
    pub fn part(&self) -> usize {
        self.whole.most / self.whole.holders.load(Ordering::Acquire).max(1)
    }
}

impl Drop for Portion {
    fn drop(&mut self) {
        self.hold(0);
        self.whole.holders.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each takes what it wants within what it may have, and then each looks again, as they do every second.
        #[test]
        fn the_whole_is_kept_once_each_has_looked(wanted in prop::collection::vec((0_usize..8, 0_usize..500), 1..100)) {
            let first = Portion::whole(1_000);
            let all: Vec<Portion> = (0..7).map(|_| first.further()).chain([first.further()]).collect();
            let mut held = [0; 8];
            for (holder, more) in wanted {
                let most = all[holder].most();
                prop_assert!(most >= all[holder].part());
                held[holder] = most.min(more);
                all[holder].hold(held[holder]);
            }
            for (portion, held) in all.iter().zip(&mut held) {
                *held = portion.most().min(*held);
                portion.hold(*held);
            }
            prop_assert!(held.iter().sum::<usize>() <= 1_000, "{:?}", held);
            drop(all);
            prop_assert_eq!(first.most(), 1_000);
        }
    }
}
