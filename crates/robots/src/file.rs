//! One file prepared for one agent.

use std::cell::Cell;
use std::sync::Arc;

use crate::choice::Case;
use crate::encoding::{Body, Decoding};
use crate::hardened;
use crate::member::Member;
use crate::memory;
use crate::pattern::Subject;
use crate::source::Source;
use crate::target::{path_and_query, site_and_path};
use crate::warning::WarningKind;
use crate::{Additions, Agent, Dialect, Options, Reason, Signals, Timing, Verdict, Warning};

/// Bytes of memory that a file may take beside twice its own.
const ROOM: usize = 64 << 10;

/// Bytes of memory that prepared rules may take: with more of them, the file is read again for each verdict, in less than a millisecond where
/// it isn't much larger.
const MOST_PREPARED: usize = 384 << 10;

/// Holds one robots.txt, prepared for one agent once and asked many times.
///
/// Always answers: a file that could not be fetched is held as [`Robots::allow_all`] or [`Robots::deny_all`].
#[derive(Debug, Clone)]
pub struct Robots {
    dialect: Dialect,
    decider: Decider,
    /// The file itself, where its rules would take too much memory.
    source: Option<Box<Source>>,
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
    /// URL counts as one of this site. Linear in time. What it takes of memory is bounded: see [`memory`](Self::memory).
    pub fn parse(body: &[u8], agent: &Agent, options: &Options, site: Option<&str>) -> Robots {
        let bytes = body.len().min(options.max_bytes);
        Self::parse_within(body, agent, options, site, 2 * bytes + ROOM, MOST_PREPARED)
    }

    /// As [`Robots::parse`], with so many bytes of memory for everything where rules are prepared, and for the rules alone.
    pub(crate) fn parse_within(
        body: &[u8],
        agent: &Agent,
        options: &Options,
        site: Option<&str>,
        room: usize,
        room_of_rules: usize,
    ) -> Robots {
        let dialect = options.dialect;
        let body = Body::open(body, options.max_bytes);
        let site = site.and_then(site_and_path).map(|(site, _)| site);
        let left = Cell::new(room.min(room_of_rules));
        let case = Case { agent, options, site: site.as_deref(), room: &left };

        let mut members = Vec::with_capacity(1);
        let mut timing = Timing::default();
        if dialect == Dialect::Strictest {
            let ((text, _), form) = (body.text(), body.text_decoding().into());
            for member in [Dialect::Koster1994, Dialect::Koster1996, Dialect::Conner1996] {
                let (member, beside) = Member::prepare(&text, form, &case, member, true);
                timing.join(beside.timing);
                members.push(member);
            }
        }
        let main = members.len();
        let mut read = match dialect {
            Dialect::Hardened | Dialect::Strictest => {
                let (more, read) = hardened::read(&body, &case);
                members.extend(more);
                read
            }
            _ => {
                let (text, odd, decoding) = if dialect == Dialect::Rfc9309 {
                    let (text, odd) = body.plain();
                    (text.into(), odd, Decoding::Plain)
                } else {
                    let (text, odd) = body.text();
                    (text, odd, body.text_decoding())
                };
                let (member, mut read) = Member::prepare(&text, decoding.into(), &case, dialect, false);
                members.push(member);
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
        let mut robots = Self {
            dialect,
            decider: Decider::All { members: Box::default(), main },
            source: None,
            warnings: read.notes.into_list().into(),
            sitemaps: read.sitemaps.into(),
            timing,
            signals: read.signals,
            additions: read.additions,
            truncated: body.truncated,
            known_fields: read.known_fields,
        };
        let takes = robots.memory() + members.iter().map(Member::memory).sum::<usize>();
        if members.iter().all(Member::is_prepared) && takes <= room {
            members.iter_mut().for_each(Member::drop_choice);
        } else {
            members.iter_mut().for_each(Member::drop_prepared);
            robots.source = Some(Box::new(Source::new(&body, &case)));
        }
        robots.decider = match <[Member; 1]>::try_from(members) {
            Ok([member]) => Decider::One(Box::new(member)),
            Err(members) => Decider::All { members: members.into(), main },
        };
        robots
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
            source: None,
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
    /// allowed (RFC 9309 section 2.2.2). Cost: see docs/robots.md; never more than O(file x URL / 64) for each reading of it.
    pub fn verdict(&self, path_and_query: &str) -> Verdict {
        let path = self::path_and_query(path_and_query);
        if path == "/robots.txt" {
            return Verdict::bare(true, self.dialect, Reason::RobotsTxt);
        }
        let subject = Subject::new(path.as_bytes());
        let mut opened = self.source.as_ref().map(|source| source.open());
        let mut verdict = |member: &Member| match &mut opened {
            None => member.verdict(&path, &subject, None),
            Some(opened) => {
                let (text, quoted, case) = opened.text(member.form);
                member.verdict(&path, &subject, Some((text, quoted, &case)))
            }
        };
        match &self.decider {
            Decider::Whole(allowed, reason) => Verdict::bare(*allowed, self.dialect, reason.clone()),
            Decider::One(member) => verdict(member),
            Decider::All { members, main } => {
                let mut allowed = None;
                for (i, member) in members.iter().enumerate() {
                    let verdict = verdict(member);
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
        let mut opened = self.source.as_ref().map(|source| source.open());
        let mut lines = |member: &Member| match &mut opened {
            None => member.lines(None),
            Some(opened) => {
                let (text, quoted, case) = opened.text(member.form);
                member.lines(Some((text, quoted, &case)))
            }
        };
        match &self.decider {
            Decider::Whole(..) => Vec::new(),
            Decider::One(member) => lines(member),
            Decider::All { members, main } => {
                let mut lines: Vec<_> = members[*main..].iter().flat_map(&mut lines).collect();
                lines.sort_by_key(|&(line, _)| line);
                lines.dedup_by_key(|&mut (line, _)| line);
                lines
            }
        }
    }

    /// Returns the bytes that each verdict reads again, because rules that are prepared for many verdicts would take too much memory:
    /// those of the file, in each of its encodings. None where they are prepared.
    ///
    /// Such a verdict takes some milliseconds for 500 KiB, and 55 at worst, for each reading.
    pub fn read_again(&self) -> usize {
        let times = match &self.decider {
            Decider::All { members, .. } => members.len(),
            Decider::Whole(..) | Decider::One(_) => 1,
        };
        self.source.as_ref().map_or(0, |source| times * source.len())
    }

    /// Returns the file where it is read again for each verdict: its whole lines within the limit.
    pub fn file(&self) -> Option<&[u8]> {
        self.source.as_ref().map(|source| source.lines())
    }

    /// Returns the bytes that this takes beyond its own size: rules, evidence, warnings and everything else on the heap, with what an
    /// allocator adds to each block. Cost: one step for each allocation, so a few for thousands of rules.
    ///
    /// At most two and a half times the bytes of the file, and 256 KiB, whatever it holds. Rules are prepared as long as all takes no
    /// more than twice its bytes and 64 KiB, and they alone no more than 384 KiB. Else the file is kept as it is, and read again for each verdict.
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
        let source =
            self.source.as_ref().map_or(0, |source| memory::block(size_of::<Source>()) + source.memory());
        decider
            + source
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
