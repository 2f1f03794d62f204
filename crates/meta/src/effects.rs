//! What directives mean for storing, showing, queueing and revisiting.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::{DirectiveSource, Directives, DocumentState, Limit};

/// Says what a crawler may do with a page, and what forbids the rest. In JSON each is `true` or `false`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Effects {
    /// Extracted text, title and other metadata may be stored and indexed.
    pub store_text: Effect,
    /// The response body may be stored (WARC, cached copy).
    pub store_body: Effect,
    /// The page's links may enter the frontier through this page.
    pub enqueue_links: Effect,
}

/// Whether something may be done with a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Effect {
    /// It may.
    #[default]
    Allowed,
    /// It may not, for this cause; of several, the first that would forbid it by itself.
    Forbidden(Cause),
}

/// Says what forbids something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// A directive of the author, and its place.
    Directive(DirectiveSource),
    /// A statement of the site on the uses of its pages, or the absence of one.
    Consent,
    /// The flag was set without evidence.
    Unstated,
}

impl Effect {
    /// Returns whether it may be done.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed)
    }

    /// Returns what forbids it.
    pub fn cause(&self) -> Option<&Cause> {
        match self {
            Self::Allowed => None,
            Self::Forbidden(cause) => Some(cause),
        }
    }

    /// Forbids it for this cause, unless it is forbidden already.
    pub(crate) fn and(self, allowed: bool, cause: impl FnOnce() -> Cause) -> Self {
        if allowed || !self.is_allowed() { self } else { Self::Forbidden(cause()) }
    }
}

impl Serialize for Effect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(self.is_allowed())
    }
}

impl Effects {
    /// Returns what the evidence that was kept of directives forbids; `is_unavailable` where the date of `unavailable_after` has come.
    ///
    /// noindex, a dynamic `document-state` and a date that has come keep text and body out, noarchive the body, nofollow the links.
    pub fn of(because: &[DirectiveSource], is_unavailable: bool) -> Self {
        let said = |key: &str| because.iter().find(|said| said.key() == key);
        let effect = |said: Option<&DirectiveSource>| {
            said.map_or(Effect::Allowed, |said| Effect::Forbidden(Cause::Directive(said.clone())))
        };
        let dynamic = || said("document-state");
        let over = || said("unavailable_after").filter(|_| is_unavailable);
        let text = said("noindex").or_else(dynamic).or_else(over);
        Self {
            store_text: effect(text),
            store_body: effect(said("noarchive").or(text)),
            enqueue_links: effect(said("nofollow")),
        }
    }
}

impl Effects {
    /// Forbids what either forbids; where both do, the cause is that of the first.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let or = |first: Effect, other: Effect| if first.is_allowed() { other } else { first };
        Self {
            store_text: or(self.store_text, other.store_text),
            store_body: or(self.store_body, other.store_body),
            enqueue_links: or(self.enqueue_links, other.enqueue_links),
        }
    }
}

impl Directives {
    /// Says what may be stored and queued, and what forbids the rest: noindex keeps text and body out, noarchive the body, nofollow the
    /// links; a page whose `document-state` is dynamic is not stored at all.
    pub fn effects(&self) -> Effects {
        let unstated = || Cause::Unstated;
        // If the flag is off for no other reason, the date has passed.
        let Effects { store_text, store_body, enqueue_links } = Effects::of(&self.because, !self.index);
        let may_store_text = self.index && self.document_state != Some(DocumentState::Dynamic);
        let may_store_body = may_store_text && self.archive;
        let only = |effect: Effect, allowed: bool| {
            if allowed { Effect::Allowed } else { effect.and(false, unstated) }
        };
        Effects {
            store_text: only(store_text, may_store_text),
            store_body: only(store_body, may_store_body),
            enqueue_links: only(enqueue_links, self.follow),
        }
    }

    /// Returns the longest excerpt that may be shown, in characters: 0 = none at all, `None` = no limit.
    pub fn excerpt_limit(&self) -> Option<usize> {
        if !self.index || !self.snippet {
            return Some(0);
        }
        match self.max_snippet {
            Some(Limit::AtMost(most)) => Some(most as usize),
            Some(Limit::Unlimited) | None => None,
        }
    }

    /// Returns whether images of the page may enter the frontier through this page.
    pub fn may_queue_images(&self) -> bool {
        self.follow && self.imageindex
    }

    /// Returns the least time until the next visit, from the interval that the crawl would choose: never shorter
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
    use crate::{Agent, Dialect, MetaTag, Sources, parse_date, resolve};

    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn each_flag_has_its_own_effect() {
        let all = Directives::default();
        let effects = |d: &Directives| {
            let Effects { store_text, store_body, enqueue_links } = d.effects();
            (store_text.is_allowed(), store_body.is_allowed(), enqueue_links.is_allowed())
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

    /// What forbids text, body and links.
    fn causes(headers: &[&str], metas: &[(&str, &str)], now: &str) -> [String; 3] {
        let headers: Vec<_> =
            headers.iter().map(|value| ("X-Robots-Tag".to_owned(), (*value).to_owned())).collect();
        let tag = |(name, content): &(&str, &str)| MetaTag {
            name: Some((*name).into()),
            content: Some((*content).into()),
            ..MetaTag::default()
        };
        let metas: Vec<_> = metas.iter().map(tag).collect();
        let sources = Sources { headers: &headers, metas: &metas };
        let effects =
            resolve(&sources, &Agent::new("bot"), Dialect::Strict, parse_date(now).unwrap()).effects();
        [effects.store_text, effects.store_body, effects.enqueue_links].map(|effect| match effect.cause() {
            Some(Cause::Directive(because)) => because.to_string(),
            cause => format!("{cause:?}"),
        })
    }

    #[test]
    fn each_effect_names_the_directive_that_caused_it() {
        const NOW: &str = "2026-01-01";
        let none = || "None".to_owned();
        let header = |directive: &str, text: &str| format!("{directive} (header X-Robots-Tag: {text})");
        assert_eq!(causes(&[], &[], NOW), [none(), none(), none()]);
        let noindex = header("noindex", "noindex");
        assert_eq!(causes(&["noindex"], &[], NOW), [noindex.clone(), noindex.clone(), none()]);
        let noarchive = header("noarchive", "nocache");
        assert_eq!(causes(&["nocache"], &[], NOW), [none(), noarchive.clone(), none()]);
        assert_eq!(causes(&["noindex", "nocache"], &[], NOW), [noindex, noarchive, none()]);
        let said = |directive: &str| header(directive, "none");
        assert_eq!(causes(&["none"], &[], NOW), [said("noindex"), said("noindex"), said("nofollow")]);
        let dynamic = "document-state:dynamic (meta document-state: Dynamic)".to_owned();
        let state = [("document-state", "Dynamic")];
        assert_eq!(causes(&[], &state, NOW), [dynamic.clone(), dynamic, none()]);
        // A date in the future forbids nothing, whatever else does.
        let date = ["unavailable_after: 2026-06-01"];
        assert_eq!(causes(&date, &[], NOW), [none(), none(), none()]);
        let [text, body, _] = causes(&date, &[], "2026-07-01");
        assert!(text.starts_with("unavailable_after: 2026-06-01T") && body == text, "{text}");
        let [text, ..] = causes(&["unavailable_after: 2026-06-01", "noindex"], &[], NOW);
        assert!(text.starts_with("noindex "), "{text}");
    }

    #[test]
    fn a_flag_without_evidence_has_no_cause() {
        let effects = Directives { index: false, follow: false, ..Directives::default() }.effects();
        for effect in [effects.store_text, effects.store_body, effects.enqueue_links] {
            assert_eq!(effect, Effect::Forbidden(Cause::Unstated));
        }
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
