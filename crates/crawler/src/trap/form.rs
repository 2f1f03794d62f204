//! Judges a URL by itself: its depth, the length of its path, repetitions in it.

use memchr::memchr_iter;

use super::{Budget, BudgetExceeded, TrapSettings};
use page::url::CrawlUrl;

/// Longest run of segments that is looked for as a repetition.
const LONGEST_PERIOD: usize = 8;

/// Returns which budget a URL exceeds by its own form. Takes time in the order of the path's length.
pub fn by_form(rules: &TrapSettings, url: &CrawlUrl, depth: u32) -> Option<BudgetExceeded> {
    if let Some(most) = rules.depth.filter(|most| depth > *most) {
        return Some(BudgetExceeded::new(Budget::Depth, most.into(), depth.into()));
    }
    let path = trimmed(url.path());
    let count = memchr_iter(b'/', path.as_bytes()).count() as u64 + 1;
    if let Some(most) = rules.segments.filter(|most| count > u64::from(*most)) {
        return Some(BudgetExceeded::new(Budget::Segments, most.into(), count));
    }
    // Fewer can't repeat more often.
    let most = rules.repeats.filter(|most| count > u64::from(*most))?;
    let segments: Vec<&str> = path.split('/').collect();
    let (_, times) = most_repeated(&segments)?;
    // A word that occurs here and there is weaker evidence than the same one repeated.
    (longest_row(&segments) > most || times > 2 * most)
        .then(|| BudgetExceeded::new(Budget::Repeats, most.into(), times.into()))
}

/// A path as its segments, parted by slashes; a slash at the end makes none.
fn trimmed(path: &str) -> &str {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.strip_suffix('/').unwrap_or(path)
}

/// The segment that occurs most often in the path, for evidence.
pub(super) fn repeated(path: &str) -> Option<String> {
    most_repeated(&trimmed(path).split('/').collect::<Vec<_>>()).map(|(segment, _)| segment.to_owned())
}

fn most_repeated<'a>(segments: &[&'a str]) -> Option<(&'a str, u32)> {
    let mut sorted = segments.to_vec();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a == b);
    runs.map(|run| (run[0], run.len() as u32)).max_by_key(|(_, times)| *times)
}

/// How often the same segment, or the same run of segments, is repeated in a row at most.
fn longest_row(segments: &[&str]) -> u32 {
    let mut longest = 1;
    for period in 1..=LONGEST_PERIOD.min(segments.len() / 2) {
        let mut equal = 0;
        for at in period..segments.len() {
            equal = if segments[at] == segments[at - period] { equal + 1 } else { 0 };
            longest = longest.max(1 + equal / period);
        }
    }
    longest as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(rules: TrapSettings, path: &str, depth: u32) -> Option<(Budget, u64)> {
        let url = CrawlUrl::parse(&format!("http://a.test{path}")).unwrap();
        by_form(&rules, &url, depth).map(|held| (held.budget, held.count))
    }

    #[test]
    fn what_repeats_is_held_and_what_only_looks_so_is_not() {
        let rules = TrapSettings::default();
        assert_eq!(rules.repeats, Some(3));
        for (path, expected) in [
            ("/a/b/a/b/a/b/", None),
            ("/a/b/a/b/a/b/a/b/", Some((Budget::Repeats, 4))),
            ("/x/a/b/c/a/b/c/a/b/c/a/b/c/y", Some((Budget::Repeats, 4))),
            ("/shop/shop/shop", None),
            ("/shop/shop/shop/shop", Some((Budget::Repeats, 4))),
            ("/2021/01/01/01.html", None),
            ("/tiles/0/0/0.png", None),
            ("/de/a/de/b/de/c/de/d/de/e/de/f", None),
            ("/de/a/de/b/de/c/de/d/de/e/de/f/de", Some((Budget::Repeats, 7))),
            ("/a/////b", Some((Budget::Repeats, 4))),
            // What is counted is how often the segment is in the path.
            ("/shop/shop/shop/shop/cart/shop", Some((Budget::Repeats, 5))),
            ("/shop/shop/shop/cart/shop", None),
            ("/", None),
            ("/aaaa/aaab/aaac/aaad", None),
        ] {
            assert_eq!(judged(rules, path, 1), expected, "{path}");
        }
        let none = TrapSettings { repeats: None, ..rules };
        assert_eq!(judged(none, "/a/a/a/a/a/a/a/a", 1), None);
    }

    #[test]
    fn depth_and_length_have_budgets() {
        let rules = TrapSettings { depth: Some(5), segments: Some(3), ..TrapSettings::default() };
        assert_eq!(judged(rules, "/a/b/c/", 5), None);
        assert_eq!(judged(rules, "/a/b/c/", 6), Some((Budget::Depth, 6)));
        assert_eq!(judged(rules, "/a/b/c/d", 5), Some((Budget::Segments, 4)));
        let none = TrapSettings { depth: None, segments: None, ..rules };
        assert_eq!(judged(none, "/a/b/c/d", 6000), None);
    }

    proptest::proptest! {
        #[test]
        fn a_path_that_grows_by_itself_is_held_some_day(part in "[a-z]{1,8}(/[a-z]{1,8}){0,7}") {
            let rules = TrapSettings::default();
            let path = format!("/{part}").repeat(40);
            proptest::prop_assert!(judged(rules, &path, 1).is_some());
        }

        #[test]
        fn no_path_breaks_it(path in "/[a-c/%0-9?]{0,300}") {
            let _held = judged(TrapSettings { segments: None, ..TrapSettings::default() }, &path, 1);
        }
    }
}
