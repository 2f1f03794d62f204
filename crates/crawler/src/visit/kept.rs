//! Untrusted text as it is stored: sanitised, within the limits of the page, and with the name of each limit reached.

use page::clean::{clean, clean_within, within_without_controls, without_controls};
use page::extract::{ExtractLimits, LimitHit};

/// Keywords that are kept of a page.
const KEYWORDS: usize = 200;

/// Bounds the texts of one page.
#[derive(Debug)]
pub(super) struct Kept<'l> {
    limits: &'l ExtractLimits,
    /// The limits that were hit, each once.
    pub(super) hits: Vec<LimitHit>,
}

impl<'l> Kept<'l> {
    pub(super) fn new(limits: &'l ExtractLimits) -> Self {
        Self { limits, hits: Vec::new() }
    }

    /// An address that isn't followed as a link.
    pub(super) fn reference(&mut self, text: &str) -> String {
        self.within(text, self.limits.reference_bytes, LimitHit::Reference)
    }

    /// The value of a header line, or what was read of one.
    pub(super) fn header(&mut self, value: &str) -> String {
        self.within(value, self.limits.header_bytes, LimitHit::Header)
    }

    /// A validator: a part of one is none.
    pub(super) fn validator(&mut self, value: &str) -> Option<String> {
        if value.len() > self.limits.header_bytes {
            self.hit(LimitHit::Header);
            return None;
        }
        Some(clean(value).into_owned())
    }

    /// A description, or a title of a meta element.
    pub(super) fn description(&mut self, text: Option<&str>) -> Option<String> {
        let (kept, was_cut) = within_without_controls(text?, self.limits.description_bytes);
        if was_cut {
            self.hit(LimitHit::Description);
        }
        (!kept.is_empty()).then_some(kept)
    }

    /// Keywords, up to the first one that doesn't fit.
    pub(super) fn keywords(&mut self, words: &[String]) -> Option<Vec<String>> {
        let (mut kept, mut bytes) = (Vec::new(), 0);
        for word in words {
            let word = without_controls(word);
            bytes += word.len();
            if bytes > self.limits.keywords_bytes || kept.len() == KEYWORDS {
                self.hit(LimitHit::Keywords);
                break;
            }
            kept.extend((!word.is_empty()).then(|| word.into_owned()));
        }
        (!kept.is_empty()).then_some(kept)
    }

    fn within(&mut self, text: &str, most: usize, limit: LimitHit) -> String {
        let (kept, was_cut) = clean_within(text, most);
        if was_cut {
            self.hit(limit);
        }
        kept
    }

    fn hit(&mut self, limit: LimitHit) {
        if !self.hits.contains(&limit) {
            self.hits.push(limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> ExtractLimits {
        ExtractLimits {
            description_bytes: 8,
            keywords_bytes: 8,
            header_bytes: 8,
            reference_bytes: 8,
            ..ExtractLimits::default()
        }
    }

    #[test]
    fn what_fits_is_kept_clean_and_hits_nothing() {
        let limits = limits();
        let mut kept = Kept::new(&limits);
        assert_eq!(kept.reference("http:a\u{1}b"), "http:ab");
        assert_eq!(kept.header("a\tb"), "a b");
        assert_eq!(kept.validator("\"etag\"").as_deref(), Some("\"etag\""));
        assert_eq!(kept.description(Some("\u{1}\u{2}")), None);
        assert_eq!(kept.description(None), None);
        let words = ["one", "\u{1}", "five5"].map(str::to_owned);
        assert_eq!(kept.keywords(&words), Some(vec!["one".to_owned(), "five5".to_owned()]));
        assert_eq!(kept.hits, []);
    }

    #[test]
    fn what_doesnt_fit_is_truncated_or_omitted_and_reported() {
        let limits = limits();
        let mut kept = Kept::new(&limits);
        assert_eq!(kept.reference(&"ä".repeat(9)), "ää…");
        assert_eq!(kept.header("123456789"), "12345…");
        assert_eq!(kept.validator("\"12345678\""), None);
        assert_eq!(kept.description(Some("123456789")).as_deref(), Some("12345…"));
        assert_eq!(kept.keywords(&["one".to_owned(), "sixsix".to_owned()]), Some(vec!["one".to_owned()]));
        let hits = [LimitHit::Reference, LimitHit::Header, LimitHit::Description, LimitHit::Keywords];
        assert_eq!(kept.hits, hits);
        let mut kept = Kept::new(&limits);
        let many: Vec<String> = (0..=KEYWORDS).map(|_| String::from("\u{1}")).collect();
        assert_eq!(kept.keywords(&many), None);
        let limits = ExtractLimits::default();
        let mut kept = Kept::new(&limits);
        let many: Vec<String> = (0..=KEYWORDS).map(|n| n.to_string()).collect();
        assert_eq!(kept.keywords(&many).map(|words| words.len()), Some(KEYWORDS));
        assert_eq!(kept.hits, [LimitHit::Keywords]);
    }
}
