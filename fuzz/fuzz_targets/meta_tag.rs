//! Any text is the content of a meta tag: the first line of the input is its name, each further line a tag.

#![no_main]

use libfuzzer_sys::fuzz_target;
use meta::{Agent, Dialect, Directives, MetaTag, Sources, link_rel, parse_content, parse_date, resolve};

fuzz_target!(|data: &[u8]| fuzz::in_small_stack(|| check(data)));

fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let name = lines.next().unwrap_or_default();
    let tag = |(position, content): (u32, &str)| MetaTag {
        name: Some(name.to_owned()),
        http_equiv: None,
        property: None,
        content: Some(content.to_owned()),
        position,
        ..MetaTag::default()
    };
    let metas: Vec<MetaTag> = (0..).zip(lines).map(tag).collect();
    let agent = Agent::new("a/1.0").with_aliases(["old"]);
    let now = jiff::Timestamp::UNIX_EPOCH;
    let read = |metas: &[MetaTag], dialect| resolve(&Sources { headers: &[], metas }, &agent, dialect, now);

    let whole = read(&metas, Dialect::Strict);
    assert!(whole.permits_no_more_than(&Directives::default()));
    // In whatever order: the sum of all tags.
    let turned: Vec<MetaTag> = metas.iter().rev().cloned().collect();
    let turned = read(&turned, Dialect::Strict);
    assert!(whole.permits_no_more_than(&turned) && turned.permits_no_more_than(&whole));
    // Said twice is said once.
    let twice = read(&[metas.clone(), metas.clone()].concat(), Dialect::Strict);
    assert!(whole.permits_no_more_than(&twice) && twice.permits_no_more_than(&whole));
    assert!(whole.clone().merge(whole.clone()) == whole);
    // No dialect forbids to store what the strict one lets through, but for the defaults of two of them.
    assert!(read(&metas, Dialect::Yandex).index >= whole.index);
    assert!(whole.because.iter().all(|because| because.source.text.chars().all(|c| !c.is_control())));
    assert!(whole.description.as_deref().is_none_or(|text| text.len() <= 8 * 1024));
    assert!(whole.keywords.len() <= 200);
    for content in metas.iter().filter_map(|tag| tag.content.as_deref()) {
        assert!(parse_content(content).len() <= content.len() + 1);
        let _date = parse_date(content);
        // A link may not be queued where one of three words stands there, nor for anything else in a value of the usual form.
        let words = ["nofollow", "ugc", "sponsored"];
        let forbids =
            content.split_ascii_whitespace().any(|word| words.iter().any(|w| word.eq_ignore_ascii_case(w)));
        let effects = link_rel(content);
        assert!(!forbids || !effects.may_queue());
        assert!(forbids || effects.may_queue() || effects.malformed);
    }
}
