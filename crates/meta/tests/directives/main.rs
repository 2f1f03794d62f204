//! Page directives by table and vector.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod document;
mod html;
mod malformed;
mod page_directives;
mod worked_examples;
