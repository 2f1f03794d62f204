//! One file prepared for one agent.

use std::sync::Arc;

use crate::encoding::Body;
use crate::hardened;
use crate::member::{Case, Member};
use crate::memory;
use crate::pattern::Subject;
use crate::target::{path_and_query, site_and_path};
use crate::warning::WarningKind;
use crate::{Additions, Agent, Dialect, Options, Reason, Signals, Timing, Verdict, Warning};

/// Holds one robots.txt, prepared for one agent once and asked many times.
///
/// Always answers: a file that could not be fetched is held as [`Robots::allow_all`] or [`Robots::deny_all`].
#[derive(Debug, Clone)]
pub struct Robots {
    dialect: Dialect,
    decider: Decider,
    warnings: Box<[Warning]>,
    sitemaps: Box<[String]>,
    timing: Timing,
    signals: Signals,
    additions: Additions,
    truncated: bool,
    known_fields: usize,
}

#[derive(Debug, Clone)]
enum Decider {
    /// No file: one answer for everything.
    Whole(bool, Reason),
    /// One dialect.
    One(Box<Member>),
    /// Every one must allow: the members of `strictest`, and the readings that `hardened` asks as well.
    All {
        members: Box<[Member]>,
        /// The place of the reading that speaks where all allow: the first one of `hardened`.
        main: usize,
    },
}

impl Robots {
    /// Reads a file for an agent. Total: any bytes give a value and warnings.
    ///
    /// `body` is the decoded body; hand over one byte more than [`Options::max_bytes`] where there is more, so that the cut is
    /// seen. `site` is the origin (`https://site.example`) that full URLs in rules are compared with (H4); without one, every full
    /// URL counts as one of this site. Linear in time and memory.
    pub fn parse(body: &[u8], agent: &Agent, options: &Options, site: Option<&str>) -> Robots {
        let dialect = options.dialect;
        let body = Body::open(body, options.max_bytes);
        let site = site.and_then(site_and_path).map(|(site, _)| site);
        let case = Case { agent, options, site: site.as_deref() };

        let mut deciders = Vec::with_capacity(1);
        let mut timing = Timing::default();
        if dialect == Dialect::Strictest {
            let (text, _) = body.text();
            for member in [Dialect::Koster1994, Dialect::Koster1996, Dialect::Conner1996] {
                let (member, beside) = Member::prepare(&text, &case, member, true);
                timing.join(beside.timing);
                deciders.push(member);
            }
        }
        let main = deciders.len();
        let mut read = match dialect {
            Dialect::Hardened | Dialect::Strictest => {
                let (members, read) = hardened::read(&body, &case);
                deciders.extend(members);
                read
            }
            _ => {
                let (text, odd) = match dialect {
                    Dialect::Rfc9309 => {
                        let (text, odd) = body.plain();
                        (text.into(), odd)
                    }
                    _ => body.text(),
                };
                let (member, mut read) = Member::prepare(&text, &case, dialect, false);
                deciders.push(member);
                if let Some(odd) = odd {
                    read.notes.add(0, odd, b"");
                }
                read
            }
        };
        timing.join(read.timing);
        if body.truncated {
            read.notes.add(0, WarningKind::TooLong, b"");
        }
        let decider = match <[Member; 1]>::try_from(deciders) {
            Ok([member]) => Decider::One(Box::new(member)),
            Err(members) => Decider::All { members: members.into(), main },
        };
        Self {
            dialect,
            decider,
            warnings: read.notes.into_list().into(),
            sitemaps: read.sitemaps.into(),
            timing,
            signals: read.signals,
            additions: read.additions,
            truncated: body.truncated,
            known_fields: read.known_fields,
        }
    }

    /// Answers everything with "allowed" for a reason that no file gave, e.g. `unavailable: 404`.
    pub fn allow_all(reason: impl Into<Arc<str>>) -> Robots {
        Self::whole(true, reason.into())
    }

    /// Answers everything but `/robots.txt` with "not allowed" for a reason that no file gave, e.g. `closed: 403`.
    pub fn deny_all(reason: impl Into<Arc<str>>) -> Robots {
        Self::whole(false, reason.into())
    }

    fn whole(allowed: bool, reason: Arc<str>) -> Robots {
        Self {
            dialect: Dialect::default(),
            decider: Decider::Whole(allowed, Reason::Access(reason)),
            warnings: Box::default(),
            sitemaps: Box::default(),
            timing: Timing::default(),
            signals: Signals::default(),
            additions: Additions::NONE,
            truncated: false,
            known_fields: 0,
        }
    }

    /// Names the dialect used in verdicts of [`Robots::allow_all`] and [`Robots::deny_all`].
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Robots {
        if matches!(self.decider, Decider::Whole(..)) {
            self.dialect = dialect;
        }
        self
    }

    /// Decides a path with query (`/a?b`) or an absolute URL; a fragment is dropped.
    ///
    /// Scheme and host of a URL are not compared: the caller picks the file of the URL's origin. `/robots.txt` itself is always
    /// allowed (RFC 9309 section 2.2.2). Cost: see docs/robots.md; never more than O(rules x (pattern + URL)).
    pub fn verdict(&self, path_and_query: &str) -> Verdict {
        let path = self::path_and_query(path_and_query);
        if path == "/robots.txt" {
            return Verdict::bare(true, self.dialect, Reason::RobotsTxt);
        }
        let subject = Subject::new(path.as_bytes());
        match &self.decider {
            Decider::Whole(allowed, reason) => Verdict::bare(*allowed, self.dialect, reason.clone()),
            Decider::One(member) => member.verdict(&path, &subject),
            Decider::All { members, main } => {
                let mut allowed = None;
                for (i, member) in members.iter().enumerate() {
                    let verdict = member.verdict(&path, &subject);
                    if !verdict.allowed {
                        return verdict;
                    }
                    if i == *main {
                        allowed = Some(verdict);
                    }
                }
                let allowed = allowed.unwrap_or_else(|| Verdict::bare(true, self.dialect, Reason::NoRules));
                Verdict { dialect: self.dialect, ..allowed }
            }
        }
    }

    /// Returns what is odd about the file, in line order: at most 200 warnings, and a last one that says that there are more.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the Sitemap values in file order, repeats included, case kept; relative ones unchanged.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// Returns the timing lines that bind us.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Returns the fields beside rules.
    pub fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Returns the additions of `hardened` that came to bear on this file: without them it would read as in `rfc9309`.
    pub fn additions(&self) -> Additions {
        self.additions
    }

    /// Returns whether the file was longer than the limit and was cut.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Counts the lines whose field is known: 0 tells HTML and junk from a robots.txt.
    pub fn known_fields(&self) -> usize {
        self.known_fields
    }

    /// Returns the rules that bind the agent, in file order: number of the line, and the line. None where there is no file.
    ///
    /// Of `strictest`, the rules of `hardened`: those that every member sees.
    pub fn binding(&self) -> Vec<(u32, Arc<str>)> {
        match &self.decider {
            Decider::Whole(..) => Vec::new(),
            Decider::One(member) => member.lines(),
            Decider::All { members, main } => {
                let mut lines: Vec<_> = members[*main..].iter().flat_map(Member::lines).collect();
                lines.sort_by_key(|&(line, _)| line);
                lines.dedup_by_key(|&mut (line, _)| line);
                lines
            }
        }
    }

    /// Returns the bytes that this takes beyond its own size: rules, evidence, warnings and everything else on the heap, with what an
    /// allocator adds to each block. Cost: one step for each allocation, so a few for thousands of rules.
    pub fn memory(&self) -> usize {
        let decider = match &self.decider {
            Decider::Whole(_, Reason::Access(reason)) => memory::shared(reason),
            Decider::Whole(..) => 0,
            Decider::One(member) => memory::block(size_of::<Member>()) + member.memory(),
            Decider::All { members, .. } => {
                memory::list::<Member>(members.len()) + members.iter().map(Member::memory).sum::<usize>()
            }
        };
        let warnings = self.warnings.iter().map(|warning| memory::block(warning.text.capacity()));
        decider
            + memory::list::<Warning>(self.warnings.len())
            + warnings.sum::<usize>()
            + memory::texts(&self.sitemaps, self.sitemaps.len())
            + self.timing.memory()
            + self.signals.memory()
    }

    /// Returns the dialect.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }
}
