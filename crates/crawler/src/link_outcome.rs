//! What became of a link: queued, known already, or skipped, and why.

use serde::{Deserialize, Serialize};

/// What became of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum LinkOutcome {
    /// It was new, and queued.
    Queued,
    /// Its URL was known already.
    Seen,
    /// It waits to be compared with what is known of its host.
    Untested,
    /// The page is under nofollow.
    PageNofollow,
    /// `rel` has nofollow, ugc or sponsored.
    RelNofollow,
    /// A resource of the page (image, script, style); queued only with `--resources`.
    Resource,
    /// Outside the crawl's hosts.
    OtherHost,
    /// Outside the crawl's path prefixes.
    OtherPath,
    /// Excluded by `--include` or `--exclude`.
    Pattern,
    /// Deeper than `--max-depth`.
    TooDeep,
    /// Longer than `max_url_length`.
    TooLong,
    /// More redirects in a row than `max_redirects`.
    TooManyRedirects,
    /// Neither http nor https, or no URL at all.
    NotHttp,
    /// An image of a page under noimageindex.
    NoImageIndex,
    /// Held back: more links from a seed than `traps.depth`.
    TrapDepth,
    /// Held back: more segments than `traps.segments`.
    TrapSegments,
    /// Held back: its path repeats itself.
    TrapRepeats,
    /// Held back: its host has enough URLs.
    TrapHost,
    /// Held back: its domain has enough hosts.
    TrapDomain,
    /// Held back: enough URLs differ from it in the query alone.
    TrapQuery,
    /// Held back: enough URLs differ from it in digits alone.
    TrapShape,
    /// Held back: pages like it go on saying the same.
    TrapSame,
    /// A sitemap names it that doesn't speak for its host.
    SitemapHost,
    /// A redirect back into the chain of redirects that it belongs to.
    RedirectLoop,
    /// Held back: its page names enough new hosts.
    TrapPage,
    /// Removed by `crawl forget`.
    Forgotten,
    /// Its MIME type isn't among `--types`, or it is a large media file or archive. What became of its URL, not of a link.
    Type,
    /// Its page may add no more to the database.
    Growth,
    /// It costs its site much and brings nothing new: an edit form, a search, a cart, a list in another order.
    Costly,
}

impl LinkOutcome {
    /// The name in exports and reasons.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Seen => "seen",
            Self::Untested => "untested",
            Self::PageNofollow => "nofollow_page",
            Self::RelNofollow => "nofollow_rel",
            Self::Resource => "resource",
            Self::OtherHost => "other_host",
            Self::OtherPath => "other_path",
            Self::Pattern => "pattern",
            Self::TooDeep => "too_deep",
            Self::TooLong => "too_long",
            Self::TooManyRedirects => "too_many_redirects",
            Self::NotHttp => "not_http",
            Self::NoImageIndex => "no_image_index",
            Self::TrapDepth => "trap_depth",
            Self::TrapSegments => "trap_segments",
            Self::TrapRepeats => "trap_repeats",
            Self::TrapHost => "trap_host",
            Self::TrapDomain => "trap_domain",
            Self::TrapQuery => "trap_query",
            Self::TrapShape => "trap_shape",
            Self::TrapSame => "trap_same",
            Self::SitemapHost => "sitemap_other_host",
            Self::RedirectLoop => "redirect_loop",
            Self::TrapPage => "trap_page",
            Self::Forgotten => "forgotten",
            Self::Type => "type",
            Self::Growth => "growth",
            Self::Costly => "costly",
        }
    }

    /// All outcomes.
    pub const ALL: [Self; 29] = [
        Self::Queued,
        Self::Seen,
        Self::Untested,
        Self::PageNofollow,
        Self::RelNofollow,
        Self::Resource,
        Self::OtherHost,
        Self::OtherPath,
        Self::Pattern,
        Self::TooDeep,
        Self::TooLong,
        Self::TooManyRedirects,
        Self::NotHttp,
        Self::NoImageIndex,
        Self::TrapDepth,
        Self::TrapSegments,
        Self::TrapRepeats,
        Self::TrapHost,
        Self::TrapDomain,
        Self::TrapQuery,
        Self::TrapShape,
        Self::TrapSame,
        Self::SitemapHost,
        Self::RedirectLoop,
        Self::TrapPage,
        Self::Forgotten,
        Self::Type,
        Self::Growth,
        Self::Costly,
    ];

    /// The outcome of this name.
    pub fn of_word(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == name)
    }

    /// What the settings of a crawl leave out, which a later run with others may judge again.
    pub const BY_SETTINGS: [Self; 18] = [
        Self::Resource,
        Self::OtherHost,
        Self::OtherPath,
        Self::Pattern,
        Self::TooDeep,
        Self::TooLong,
        Self::TooManyRedirects,
        Self::TrapDepth,
        Self::TrapSegments,
        Self::TrapRepeats,
        Self::TrapHost,
        Self::TrapDomain,
        Self::TrapPage,
        Self::TrapQuery,
        Self::TrapShape,
        Self::TrapSame,
        Self::Type,
        Self::Costly,
    ];

    /// The keys of the settings that leave such a URL out; none where they don't decide it.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Resource => &["scope.resources"],
            Self::OtherHost | Self::OtherPath | Self::Pattern => &[
                "scope.mode",
                "scope.include",
                "scope.exclude",
                "scope.resource_hosts",
                "scope.follow_moved_seeds",
            ],
            Self::TooDeep => &["limits.max_depth"],
            Self::TooLong => &["limits.max_url_length"],
            Self::TooManyRedirects => &["limits.max_redirects"],
            // --max-depth takes its place.
            Self::TrapDepth => &["traps.depth", "limits.max_depth"],
            Self::TrapSegments => &["traps.segments"],
            Self::TrapRepeats => &["traps.repeats"],
            Self::TrapHost => &["traps.urls_per_host"],
            Self::TrapDomain => &["traps.hosts_per_domain"],
            Self::TrapPage => &["traps.hosts_per_page"],
            Self::TrapQuery => &["traps.query_variants"],
            Self::TrapShape => &["traps.shape_variants"],
            Self::TrapSame => &["traps.same_pages"],
            Self::Type => &["scope.types", "limits.max_media"],
            Self::Costly => &[
                "costly.action",
                "costly.classes",
                "costly.kinds",
                "costly.hosts",
                "costly.directory",
                "scope.include",
            ],
            _ => &[],
        }
    }

    /// True where the settings of a crawl leave it out.
    pub fn is_by_settings(self) -> bool {
        Self::BY_SETTINGS.contains(&self)
    }

    /// True where a limit on a space of URLs without end holds it back.
    pub fn is_trap(self) -> bool {
        self.keys().first().is_some_and(|key| key.starts_with("traps."))
    }

    /// True where the URL was found and will not be fetched through this link.
    pub fn is_skip(self) -> bool {
        !matches!(self, Self::Queued | Self::Seen | Self::Untested)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_leaves_a_url_out_is_a_setting() {
        for outcome in LinkOutcome::BY_SETTINGS {
            assert!(outcome.is_skip() && !outcome.keys().is_empty(), "{outcome:?}");
            assert!(outcome.is_by_settings());
            for key in outcome.keys() {
                assert!(crate::config::Key::by_path(key).is_some(), "{key}");
            }
        }
        assert!(LinkOutcome::TrapSame.is_trap() && !LinkOutcome::TooDeep.is_trap());
        assert!(!LinkOutcome::RelNofollow.is_by_settings());
    }
}
