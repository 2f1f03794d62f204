//! The groups of a file that are meant, one bit each.

use crate::memory;

/// A set of numbers of groups.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupSet(Box<[u64]>);

impl GroupSet {
    /// The set of these groups, in ascending order.
    pub(crate) fn of(groups: &[u32]) -> Self {
        let words = groups.last().map_or(0, |&last| last as usize / 64 + 1);
        let mut set = vec![0; words];
        for &group in groups {
            set[group as usize / 64] |= 1 << (group % 64);
        }
        Self(set.into())
    }

    pub(crate) fn has(&self, group: u32) -> bool {
        self.0.get(group as usize / 64).is_some_and(|word| word >> (group % 64) & 1 == 1)
    }

    /// The bytes that this takes on the heap.
    pub(crate) fn memory(&self) -> usize {
        memory::list::<u64>(self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_what_it_was_made_of() {
        let groups = [0, 5, 63, 64, 200];
        let set = GroupSet::of(&groups);
        assert!((0..400).all(|group| set.has(group) == groups.contains(&group)));
        assert!(!GroupSet::of(&[]).has(0) && GroupSet::of(&[]).memory() == 0);
    }
}
