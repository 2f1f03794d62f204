//! Counts of texts that sites choose, in bounded memory.

use std::collections::BTreeMap;

use super::coverage::Counted;

/// Distinct texts that are counted by name.
const MOST: usize = 1000;

/// Longest text that is counted by name, in bytes.
const LONGEST: usize = 200;

/// What the texts beyond [`MOST`] and longer ones than [`LONGEST`] are counted as.
pub(super) const OTHERS: &str = "others";

/// Counts texts: the first 1,000 distinct ones by name, the rest together.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: BTreeMap<String, u64>,
    others: u64,
}

impl Tally {
    /// Counts a text once.
    pub(super) fn add(&mut self, text: &str) {
        if let Some(count) = self.counts.get_mut(text) {
            *count += 1;
        } else if self.counts.len() < MOST && text.len() <= LONGEST {
            self.counts.insert(text.to_owned(), 1);
        } else {
            self.others += 1;
        }
    }

    /// The counts, the most frequent first; at the end what wasn't counted by name.
    pub(super) fn into_counts(self) -> Vec<Counted> {
        let mut counts = most_frequent(self.counts);
        if self.others > 0 {
            counts.push(Counted { what: OTHERS.to_owned(), count: self.others });
        }
        counts
    }
}

/// Counts with the most frequent first, equal ones by name.
pub(crate) fn most_frequent(counts: BTreeMap<String, u64>) -> Vec<Counted> {
    let mut counts: Vec<_> = counts.into_iter().map(|(what, count)| Counted { what, count }).collect();
    counts.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.what.cmp(&b.what)));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_beyond_the_bound_are_counted_together() {
        let mut tally = Tally::default();
        for number in 0..1500 {
            tally.add(&format!("type/{number}"));
        }
        tally.add("type/7");
        tally.add(&"x".repeat(201));
        let counts = tally.into_counts();
        assert_eq!(counts.len(), 1001);
        assert_eq!(counts[0], Counted { what: "type/7".to_owned(), count: 2 });
        assert_eq!(counts[1000], Counted { what: "others".to_owned(), count: 501 });
    }
}
