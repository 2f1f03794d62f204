//! A selector of `[[extract]]`, and a page: the first line of the input is the selector. Values are within the limits.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use page::extract::{HowMany, SelectLimits, SelectRule, Take, select};

fuzz_target!(|data: &[u8]| {
    fuzz::in_small_stack(|| {
        let text = String::from_utf8_lossy(data);
        let (css, html) = text.split_once('\n').unwrap_or((&text, "<p class=a>x<b>y</b></p>"));
        let limits = SelectLimits {
            nodes: 5_000,
            values: 10,
            value_bytes: 50,
            bytes: 200,
            time: Duration::from_millis(200),
            ..SelectLimits::default()
        };
        let Ok(rule) = SelectRule::new("x", css, Take::Text, HowMany::All) else { return };
        if let Ok(selected) = select(html, &[rule], &limits) {
            let values = &selected.fields[0].values;
            assert!(values.len() <= limits.values);
            assert!(values.iter().all(|value| value.len() <= limits.value_bytes));
            assert!(values.iter().map(String::len).sum::<usize>() <= limits.bytes);
        }
    });
});
