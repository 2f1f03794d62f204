//! Records that aren't committed yet: the last version of a file is found here until its commit is complete.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The last version of each file, by a name, for as long as somebody else holds it: its visit, then the batch until that is
/// committed, and a cache. Afterwards the store has it.
#[derive(Debug)]
pub(crate) struct Uncommitted<R>(Mutex<Noted<R>>);

#[derive(Debug)]
struct Noted<R> {
    versions: HashMap<Box<str>, Weak<R>>,
    /// When there are so many, those that nobody holds any more are dropped.
    sweep_at: usize,
}

/// Versions that are noted without a sweep.
const FEW: usize = 64;

impl<R> Default for Uncommitted<R> {
    fn default() -> Self {
        Self(Mutex::new(Noted { versions: HashMap::new(), sweep_at: FEW }))
    }
}

impl<R> Uncommitted<R> {
    /// Notes a new version.
    pub(crate) fn note(&self, name: &str, version: &Arc<R>) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.versions.len() >= noted.sweep_at {
            noted.versions.retain(|_, version| version.strong_count() > 0);
            noted.versions.shrink_to(FEW);
            noted.sweep_at = FEW + 2 * noted.versions.len();
        }
        noted.versions.insert(name.into(), Arc::downgrade(version));
    }

    /// The last version, if it is held.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).versions.get(name)?.upgrade()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_until_it_is_dropped_and_takes_no_memory_then() {
        let noted = Uncommitted::default();
        let mut held: Vec<Arc<usize>> = Vec::new();
        for n in 0..100_000 {
            let version = Arc::new(n);
            noted.note(&n.to_string(), &version);
            held.push(version);
            if held.len() > 10 {
                held.remove(0);
            }
            assert_eq!(noted.get(&n.to_string()).as_deref(), Some(&n));
            assert_eq!(noted.get(&n.saturating_sub(11).to_string()).is_some(), n < 10);
        }
        assert!(noted.0.lock().unwrap().versions.len() <= FEW + 2 * 11);
        let newer = Arc::new(7);
        noted.note("99999", &newer);
        assert_eq!(noted.get("99999").as_deref(), Some(&7));
    }
}
