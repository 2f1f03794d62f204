//! Which archive files of a worker are written to.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The series of archive files that are written to.
#[derive(Debug, Clone, Default)]
pub(super) struct Written(Arc<Mutex<HashSet<String>>>);

impl Written {
    /// A partition begins: files of this series are its own from now on.
    pub(super) fn begin(&self, series: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(series);
    }

    /// It has ended: nothing is written any more.
    pub(super) fn end(&self, series: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(series);
    }

    /// Whether files of a series are written to.
    #[cfg_attr(not(feature = "object-storage"), expect(dead_code, reason = "nothing is moved then"))]
    pub(super) fn has(&self, series: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(series)
    }
}
