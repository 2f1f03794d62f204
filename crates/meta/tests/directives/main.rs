//! Page directives by table and vector.

mod html;
mod page_directives;
mod worked_examples;
