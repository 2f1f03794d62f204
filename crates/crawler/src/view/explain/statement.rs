//! The kinds of statements that an explanation makes, and of what it says would change the answer. The simulation checks each of them against
//! the tables and the simulated web, and fails where one never occurs.

/// The words of [`Advice::AsSeed`].
pub(super) const AS_SEED: &str = "the URL in the seed file of a new crawl";

/// Declares an enum of kinds with the list of all.
macro_rules! kinds {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $kind:ident,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $kind,)+
        }

        impl $name {
            /// All kinds.
            pub const ALL: [Self; [$(Self::$kind),+].len()] = [$(Self::$kind),+];
        }
    };
}

kinds! {
    /// What a sentence of the answer states.
    Statement {
        /// A response came, with this status, and this line of robots.txt allowed the request.
        Answered,
        /// The response can't be used: its body broke off, say.
        Unusable,
        /// A wall was sent instead of the page.
        Walled,
        /// The response looks like a wall, and is treated as a page or an error.
        Suspect,
        /// It waits, and its host, which sent walls, is skipped until the next run.
        WalledHost,
        /// Whether the page may be indexed, was archived, and had its links followed.
        Effects,
        /// A limit, or the end of the connection, kept a part of the body or of the links out.
        ReadInPart,
        /// The text of a PDF file isn't in the full-text index.
        Unread,
        /// It isn't found in the full-text search.
        Unsearched,
        /// A later visit had its content withdrawn.
        Withdrawn,
        /// `crawl forget` removed it.
        Removed,
        /// It was never fetched, and `crawl forget` keeps it out.
        KeptOut,
        /// Reading it ended a process.
        Crashed,
        /// Its address may not be connected to.
        Blocked,
        /// Every attempt failed.
        Failed,
        /// It waits for its host's next request.
        Queued,
        /// It waits for a robots.txt that is unreachable.
        QueuedUnreachable,
        /// It waits, and the robots.txt that is stored denies it.
        QueuedDenied,
        /// It waits, and its robots.txt had no response.
        QueuedBackOff,
        /// It waits, and the owner of its host asked for that.
        QueuedWished,
        /// It waits, and its host was skipped.
        HostSkipped,
        /// A line of robots.txt denies it.
        DeniedByLine,
        /// Its robots.txt closes the site without a line that does.
        DeniedBySite,
        /// The page that links to it is under nofollow.
        PageNofollow,
        /// The link to it is.
        RelNofollow,
        /// Its host is outside the scope.
        OtherHost,
        /// Its path is.
        OtherPath,
        /// `--exclude` matches it.
        Excluded,
        /// No `--include` matches it.
        NotIncluded,
        /// It is too deep.
        TooDeep,
        /// It is too long.
        TooLong,
        /// Too many redirects lead to it.
        TooManyRedirects,
        /// It is the target of a form.
        Form,
        /// It is a resource of a page.
        Resource,
        /// Its page may add no more to the database.
        Growth,
        /// Its type or size isn't wanted.
        Type,
        /// Its site denies every purpose of the crawl.
        Consent,
        /// A limit against spaces of URLs without end holds it back.
        Trap,
        /// It costs its site much.
        Costly,
        /// It was excluded for a reason that no setting changes.
        LeftOut,
        /// The page that linked to it, as it was fetched last, doesn't.
        LinkGone,
        /// The crawl never found it.
        NeverFound,
        /// No robots.txt is stored for it.
        NoRobots,
        /// The robots.txt that is stored would allow it.
        WouldAllow,
        /// The robots.txt that is stored would deny it.
        WouldDeny,
        /// Its robots.txt is unreachable.
        Unreachable,
        /// It is outside the scope.
        Outside,
        /// The crawl knows it without its session id.
        Normalised,
    }
}

kinds! {
    /// What would change the answer.
    Advice {
        /// A new crawl in another directory.
        OtherDirectory,
        /// Another version of the page or of the program, and `resume --retry-crashed`.
        RetryCrashed,
        /// `resume` with `--allow-net`.
        AllowNet,
        /// `resume` with `--resolve`.
        Resolve,
        /// A response from its host, asked for by `crawl recrawl`.
        Response,
        /// A usable response for its robots.txt.
        UsableRobots,
        /// A response for its robots.txt, which `resume` requests.
        RobotsResponse,
        /// A robots.txt that allows it, and a new crawl.
        OtherRobots,
        /// The robots.txt that is stored last allows it: a new crawl.
        RobotsAllowsNow,
        /// `resume` with a higher limit of the crawl.
        HigherLimit,
        /// `resume`.
        Continue,
        /// `resume` with more pages of a host.
        MorePagesOfHost,
        /// `resume` with a higher `--max-crawl-delay`.
        LongerCrawlDelay,
        /// `resume` tries the host again.
        HostAgain,
        /// A page at this URL, and `crawl recrawl`.
        PageHere,
        /// The site lets the crawl in, and `crawl recrawl`.
        Admission,
        /// The host lets the crawl in, and `resume`.
        HostAdmission,
        /// Nothing: the target of the redirect has an answer of its own.
        SeeTarget,
        /// `crawl index` reads its text again.
        IndexAgain,
        /// A page or site that permits the search.
        Searchable,
        /// The page without the directive that had its content withdrawn.
        WithoutWithdrawal,
        /// A higher limit in `crawl.toml`, for the rest of the page.
        HigherBodyLimit,
        /// A whole response.
        WholeResponse,
        /// A page without the directive.
        WithoutDirective,
        /// A page or site that permits an effect.
        Permission,
        /// Nothing: an equal body is archived.
        SameBody,
        /// A new crawl with `--warc`.
        WithArchive,
        /// The page that links to it without nofollow.
        PageWithoutNofollow,
        /// A link to it without nofollow.
        LinkWithoutNofollow,
        /// The URL as a seed of a new crawl.
        AsSeed,
        /// `resume --follow-moved-seeds`.
        FollowMovedSeeds,
        /// `resume` with a wider `--scope`.
        WiderScope,
        /// `resume` with another `--exclude`.
        OtherExclude,
        /// `resume` with another `--include`.
        OtherInclude,
        /// `resume` with a greater `--max-depth`.
        MaxDepth,
        /// A higher setting in `crawl.toml`, and `resume`.
        HigherSetting,
        /// `resume --resources`.
        Resources,
        /// `resume --costly keep`.
        KeepCostly,
        /// `resume --types`.
        OtherTypes,
        /// A new crawl for another purpose.
        OtherPurpose,
        /// A link from another page.
        OtherLink,
        /// A link from a page of the crawl, which `crawl recrawl` fetches again.
        LinkFromPage,
        /// A link from a page whose links are listed.
        ListedLink,
    }
}
