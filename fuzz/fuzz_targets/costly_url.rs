//! Any text is a link, and any text the markup of the page on which it stands: the first line of the input is the link.

#![no_main]

use std::sync::LazyLock;

use costly::{Action, Class, Judge, Kind, Kinds, Link, Month, PageSigns, Site, Standing, Switches, group, recognise};
use libfuzzer_sys::fuzz_target;

static KINDS: LazyLock<Kinds> = LazyLock::new(|| Kinds::embedded().expect("the kinds can be read"));

fuzz_target!(|data: &[u8]| fuzz::in_small_stack(|| check(data)));

fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (url, markup) = text.split_once('\n').unwrap_or((&text, ""));
    let page = PageSigns { url: "https://a.test/wiki/A", generators: &[], headers: &[], markup };
    let mut site = Site::default();
    site.add(recognise(&page, &KINDS));
    let switches = Switches::default();
    let judge = Judge { kinds: &KINDS, switches: &switches, now: Month { year: 2026, month: 11 } };
    let of = |url: &str, standing| {
        let judged = judge.judge(&Link { url, page: Some(page.url), standing }, Some(&site), |_| false);
        (judged.action.clone(), judged.reason.map(|reason| reason.class))
    };
    let (action, class) = of(url, Standing::Found);
    assert_eq!(class.is_some(), action != Action::Keep);
    if let Action::Normalise(to) = &action {
        assert!(to.len() < url.len());
    }
    assert_eq!(of(url, Standing::Seed).0, Action::Keep);
    let (action, class) = of(url, Standing::Sitemap);
    assert!(action == Action::Keep || action == Action::Skip && class == Some(Class::Effect));
    let _group = group(url);
    let _kind = Kind::parse(markup, "kind.toml");
}
