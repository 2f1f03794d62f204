//! What directives mean for storing, showing, queueing and coming back (section 4.6).

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Directives, DocumentState, Limit};

/// Says what a crawler may do with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Effects {
    /// Extracted text, title and other metadata may be stored and indexed.
    pub store_text: bool,
    /// The response body may be stored (WARC, cached copy).
    pub store_body: bool,
    /// The page's links may enter the frontier through this page.
    pub enqueue_links: bool,
}

impl Directives {
    /// Says what may be stored and queued: noindex keeps text and body out, noarchive the body, nofollow the
    /// links; a page whose `document-state` is dynamic is not stored at all.
    pub fn effects(&self) -> Effects {
        let store_text = self.index && self.document_state != Some(DocumentState::Dynamic);
        Effects { store_text, store_body: store_text && self.archive, enqueue_links: self.follow }
    }

    /// Gives the longest excerpt that may be shown, in characters: 0 = none at all, `None` = no limit.
    pub fn excerpt_limit(&self) -> Option<usize> {
        if !self.index || !self.snippet {
            return Some(0);
        }
        match self.max_snippet {
            Some(Limit::AtMost(most)) => Some(most as usize),
            Some(Limit::Unlimited) | None => None,
        }
    }

    /// Tells whether images of the page may enter the frontier through this page.
    pub fn may_queue_images(&self) -> bool {
        self.follow && self.imageindex
    }

    /// Gives the least time until the next visit, from the interval that the crawl would choose: never shorter
    /// than `revisit-after` asks for; ten times as long and at least 30 days once the page is unavailable.
    pub fn revisit_interval(&self, interval: Duration, now: Timestamp) -> Duration {
        const DAYS_30: Duration = Duration::from_hours(30 * 24);
        let interval = interval.max(self.revisit_after.unwrap_or_default());
        if self.is_unavailable(now) { interval.saturating_mul(10).max(DAYS_30) } else { interval }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_date;

    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn each_flag_has_its_own_effect() {
        let all = Directives::default();
        let effects = |d: &Directives| {
            let Effects { store_text, store_body, enqueue_links } = d.effects();
            (store_text, store_body, enqueue_links)
        };
        assert_eq!(effects(&all), (true, true, true));
        assert_eq!(effects(&Directives { index: false, ..all.clone() }), (false, false, true));
        assert_eq!(effects(&Directives { archive: false, ..all.clone() }), (true, false, true));
        assert_eq!(effects(&Directives { follow: false, ..all.clone() }), (true, true, false));
        let dynamic = Directives { document_state: Some(DocumentState::Dynamic), ..all.clone() };
        assert_eq!(effects(&dynamic), (false, false, true));
        let fixed = Directives { document_state: Some(DocumentState::Static), ..all };
        assert_eq!(effects(&fixed), (true, true, true));
    }

    #[test]
    fn excerpts_are_limited() {
        let all = Directives::default();
        assert_eq!(all.excerpt_limit(), None);
        let most = |limit| Directives { max_snippet: Some(limit), ..Directives::default() };
        assert_eq!(most(Limit::AtMost(20)).excerpt_limit(), Some(20));
        assert_eq!(most(Limit::Unlimited).excerpt_limit(), None);
        assert_eq!(Directives { snippet: false, ..most(Limit::AtMost(20)) }.excerpt_limit(), Some(0));
        assert_eq!(Directives { index: false, ..Directives::default() }.excerpt_limit(), Some(0));
    }

    #[test]
    fn images_need_follow_and_imageindex() {
        assert!(Directives::default().may_queue_images());
        assert!(!Directives { imageindex: false, ..Directives::default() }.may_queue_images());
        assert!(!Directives { follow: false, ..Directives::default() }.may_queue_images());
    }

    #[test]
    fn wishes_only_lengthen_the_interval() {
        let now = parse_date("2026-01-01").unwrap();
        let wish = Directives { revisit_after: Some(10 * DAY), ..Directives::default() };
        assert_eq!(wish.revisit_interval(DAY, now), 10 * DAY);
        assert_eq!(wish.revisit_interval(20 * DAY, now), 20 * DAY);
        let gone = Directives { unavailable_after: Some(now), ..Directives::default() };
        assert_eq!(gone.revisit_interval(DAY, now), 30 * DAY);
        assert_eq!(gone.revisit_interval(4 * DAY, now), 40 * DAY);
        assert_eq!(gone.revisit_interval(DAY, now - Duration::from_secs(1)), DAY);
        assert_eq!(gone.revisit_interval(Duration::MAX, now), Duration::MAX);
    }
}
