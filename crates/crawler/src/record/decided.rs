//! The decision of a ledger entry: one word.

use super::words::words;
use super::{RobotsAccess, SitemapState};

words! {
    /// What was decided. `docs/outputs.md` lists the words.
    Decided {
        /// An answer came.
        Fetched = "fetched",
        /// A page's content may not be kept.
        NotIndexed = "not_indexed",
        /// A page's body may not be archived.
        NotArchived = "not_archived",
        /// A page's links may not be followed.
        NotFollowed = "not_followed",
        /// A page's links are counted and not listed.
        NotListed = "not_listed",
        /// A record was changed without a visit.
        Stored = "stored",
        /// Content was removed from database and archive.
        Withdrawn = "withdrawn",
        /// A record was saved by a repair.
        Repaired = "repaired",
        /// The URL isn't requested.
        Skipped = "skipped",
        /// A URL that was skipped before waits now.
        Admitted = "admitted",
        /// No usable answer; it is asked for again.
        Retry = "retry",
        /// No usable answer; it is given up.
        Failed = "failed",
        /// The host rests.
        Paused = "paused",
        /// The URLs of an origin wait behind the others of its host.
        PutBack = "put_back",
        /// The host is skipped for the rest of the run.
        Parked = "parked",
        /// The body of a robots.txt is obeyed.
        RobotsRules = "robots_rules",
        /// A stored robots.txt is obeyed.
        RobotsStored = "robots_stored",
        /// There is no robots.txt that forbids anything.
        RobotsAllowAll = "robots_allow_all",
        /// The site is closed.
        RobotsDenyAll = "robots_deny_all",
        /// robots.txt is unreachable now.
        RobotsDefer = "robots_defer",
        /// Other rules than before.
        RobotsChanged = "robots_changed",
        /// robots.txt leads to another URL.
        Redirected = "redirected",
        /// A request that no other entry tells of.
        Asked = "asked",
        /// A sitemap was read.
        SitemapRead = "sitemap_read",
        /// A sitemap leads elsewhere.
        SitemapRedirects = "sitemap_redirects",
        /// A sitemap couldn't be fetched, or isn't one.
        SitemapFailed = "sitemap_failed",
        /// A sitemap isn't asked for.
        SitemapRefused = "sitemap_refused",
        /// A sitemap was read in part.
        Cut = "cut",
        /// What a site's file about uses says is known.
        FileKnown = "file_known",
        /// A site's file about uses couldn't be fetched.
        FileUnreachable = "file_unreachable",
        /// The first run began.
        Started = "started",
        /// A later run began.
        Resumed = "resumed",
        /// A run ended.
        Ended = "ended",
        /// A visit was aborted in a cluster, where requests in flight aren't recorded: its request may have reached the host.
        CutOff = "cut_off",
        /// A request was under way when its process was stopped or killed: it may have reached the host.
        Interrupted = "interrupted",
        /// A link was queued, or known already.
        Link = "link",
        /// The gap before a host's next request.
        Waits = "waits",
        /// The user paused a host, or every host.
        OperatorPaused = "operator_paused",
        /// The user ended such a pause.
        OperatorContinued = "operator_continued",
        /// The user set a longer delay.
        DelaySet = "delay_set",
        /// The user asked the crawl to stop, by a command.
        StopAsked = "stop_asked",
        /// The user had the content of a URL, of a host or of matching URLs removed for good.
        Forgotten = "forgotten",
        /// The body of a page was lost with the disk of a worker, or in a power failure; the page waits to be fetched again.
        BodyLost = "body_lost",
        /// The crawl was moved to another database.
        Moved = "moved",
        /// The user set what the owner of hosts asked for.
        WishSet = "wish_set",
    }
}

impl Decided {
    /// True for entries about an origin's robots.txt, changes included.
    pub fn is_about_robots(&self) -> bool {
        matches!(
            self,
            Self::RobotsRules
                | Self::RobotsStored
                | Self::RobotsAllowAll
                | Self::RobotsDenyAll
                | Self::RobotsDefer
                | Self::RobotsChanged
        )
    }
}

/// What an answer for a robots.txt meant, as a decision.
impl From<&RobotsAccess> for Decided {
    fn from(access: &RobotsAccess) -> Self {
        match access {
            RobotsAccess::Rules => Self::RobotsRules,
            RobotsAccess::Stored => Self::RobotsStored,
            RobotsAccess::AllowAll => Self::RobotsAllowAll,
            RobotsAccess::DenyAll => Self::RobotsDenyAll,
            RobotsAccess::Defer => Self::RobotsDefer,
            RobotsAccess::Other(word) => Self::from(&*format!("robots_{}", word.as_str())),
        }
    }
}

/// What became of a sitemap, as a decision. One that waits, or is denied, has other entries.
impl From<SitemapState> for Decided {
    fn from(state: SitemapState) -> Self {
        match state {
            SitemapState::Read => Self::SitemapRead,
            SitemapState::Redirects => Self::SitemapRedirects,
            SitemapState::Failed => Self::SitemapFailed,
            SitemapState::Denied => Self::SitemapRefused,
            SitemapState::Waits => Self::Asked,
        }
    }
}
