//! Any text is a header line, or several: the first line of the input is the field's name.

#![no_main]

use libfuzzer_sys::fuzz_target;
use meta::consent::{Policy, page_statements};
use meta::{Agent, Dialect, Directives, Sources, parse_header_line, resolve};

fuzz_target!(|data: &[u8]| fuzz::in_small_stack(|| check(data)));

fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let name = match lines.next().unwrap_or_default() {
        "r" => "Robots-Tag",
        "u" => "Content-Usage",
        "s" => "Content-Signal",
        "t" => "tdm-reservation",
        "l" => "Link",
        _ => "X-Robots-Tag",
    };
    let headers: Vec<(String, String)> = lines.map(|line| (name.to_owned(), line.to_owned())).collect();
    let agent = Agent::new("a/1.0").with_aliases(["old"]);
    let now = jiff::Timestamp::UNIX_EPOCH;
    let read = |headers: &[(String, String)]| {
        resolve(&Sources { headers, metas: &[] }, &agent, Dialect::Strict, now)
    };
    let whole = read(&headers);

    // Headers only ever restrict, and each line adds to the others.
    assert!(whole.permits_no_more_than(&Directives::default()));
    if name != "tdm-reservation" {
        let mut sum = Directives::default();
        for line in &headers {
            let one = read(std::slice::from_ref(line));
            assert!(whole.permits_no_more_than(&one));
            sum = sum.merge(one);
        }
        assert!(whole.permits_no_more_than(&sum) && sum.permits_no_more_than(&whole));
    }
    // Every restriction names its line, in text that steers no terminal.
    let says = |key: &str| whole.because.iter().any(|because| because.directive.starts_with(key));
    assert!(whole.index || says("noindex") || says("unavailable_after"));
    assert!(whole.follow || says("nofollow"));
    assert!(whole.archive || says("noarchive"));
    assert!(whole.because.iter().all(|because| because.source.text.chars().all(|c| !c.is_control())));
    assert!(whole.warnings.len() <= 64);
    // Terms in the scope of another robot never reach us.
    for (name, value) in &headers {
        assert!(parse_header_line(name, value).len() <= value.len().max(1));
    }
    let statements = page_statements(&headers, &whole, None, now);
    let effects = whole.effects();
    let limited = Policy::default().judge(&statements).limit(effects.clone());
    // Consent forbids more and never less, and no body is stored whose text may not be.
    assert!(limited.store_text.is_allowed() <= effects.store_text.is_allowed());
    assert!(limited.store_body.is_allowed() <= limited.store_text.is_allowed());
}
