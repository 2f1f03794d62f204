//! What is wrong with the stored frontier.

use crate::causes::Cause;
use crate::store::{StoreError, Tree};

/// A value of `tree` isn't of the form that this version writes.
pub(super) fn form(tree: Tree, cause: impl Into<Cause>) -> StoreError {
    StoreError::Unreadable { tree: tree.name(), source: cause.into() }
}

/// Something that was stored isn't there.
pub(super) fn lost(tree: Tree, detail: &dyn std::fmt::Display) -> StoreError {
    StoreError::Lost { tree: tree.name(), detail: detail.to_string() }
}
