//! Every fault that a machine has in store: the program says what happened, ends with the code for it, and goes on later without
//! loss. Each test prints its rows of the fault matrix: fault, exit code, message.

#![expect(clippy::unwrap_used, reason = "helpers of tests, outside the functions that the lint excepts")]

mod archive;
mod crashed;
mod damage;
mod disk;
mod durable;
mod failing_io;
mod hygiene;
mod kill;
mod scarce;
#[path = "../program/scene.rs"]
#[allow(dead_code, reason = "shared with the tests of the program")]
mod scene;
mod signals;
mod streams;
mod support;
mod withheld;
