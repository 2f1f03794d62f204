//! Tools of the whole-program tests.
