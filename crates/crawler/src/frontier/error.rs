//! What is wrong with the stored frontier.

use crate::store::{StoreError, Tree};

/// A value of `tree` isn't of the form that this version writes.
pub(super) fn form(tree: Tree, detail: &dyn std::fmt::Display) -> StoreError {
    StoreError::Form { tree: tree.name(), detail: detail.to_string() }
}

/// Something that was stored isn't there.
pub(super) fn lost(tree: Tree, detail: &dyn std::fmt::Display) -> StoreError {
    StoreError::Lost { tree: tree.name(), detail: detail.to_string() }
}
