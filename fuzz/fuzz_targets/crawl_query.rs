//! Any text is a query of the full-text index: parentheses around it make no query of what is none.

#![no_main]

use crawler::search::{QueryError, check_query};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fuzz::in_small_stack(|| {
        let query = String::from_utf8_lossy(data);
        match check_query(&query) {
            Ok(())
            | Err(
                QueryError::Syntax
                | QueryError::Nested { .. }
                | QueryError::TooLong(_)
                | QueryError::LongPhrase(_),
            ) => {}
            Err(error) => panic!("{error}"),
        }
    });
});
