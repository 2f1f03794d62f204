//! Collects the terms that apply to this robot, each with its place.

use std::mem::discriminant;

use crate::evidence::clean;
use crate::fold::names;
use crate::header::{is_header, read_header_line};
use crate::tag::{read_content, tag_name};
use crate::walk::{Found, trim};
use crate::{Agent, Dialect, Scope, Source, SourceKind, Sources, Term, Warning};

/// Places of one term that are kept; of a limit or date the strictest is among them.
const PLACES: usize = 64;
/// Warnings about unusable values that are kept for one page.
const REMARKS: usize = 1_000;

/// One term that applies to this robot, with its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlacedTerm<'a> {
    pub term: Term,
    pub place: Place<'a>,
}

/// The place of a statement, from which a [`Source`] is made when needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place<'a> {
    pub origin: SourceKind,
    pub position: u32,
    /// Stands before the name: `http-equiv `.
    pub attribute: &'static str,
    pub name: &'a str,
    pub text: &'a str,
}

impl Place<'_> {
    pub(crate) fn source(&self) -> Source {
        match self.origin {
            SourceKind::Meta => {
                let name = format!("{}{}", self.attribute, tag_name(self.name));
                Source::new(self.origin, self.position, &name, self.text)
            }
            _ => Source::new(self.origin, self.position, self.name, self.text),
        }
    }
}

/// Collects, in order, the terms of headers and tags that apply to this agent in this dialect, and warnings about the rest.
/// `none` is split into its two terms, and `nocache` becomes `noarchive`.
pub(crate) fn gather<'a>(
    sources: &Sources<'a>,
    agent: &Agent,
    dialect: Dialect,
) -> (Vec<PlacedTerm<'a>>, Vec<Warning>) {
    let mut gathered = Gathered { said: Vec::new(), warnings: Vec::new(), remarks: 0 };
    for (position, (name, text)) in (0..).zip(sources.headers) {
        let place = Place { origin: SourceKind::Header, position, attribute: "", name, text };
        gathered.read_header(place, agent, dialect);
    }
    for tag in sources.metas {
        let Some(text) = tag.content.as_deref() else { continue };
        let place = |attribute, name| Place {
            origin: SourceKind::Meta,
            position: tag.position,
            attribute,
            name,
            text,
        };
        if tag.name_unread {
            gathered.read_unnamed(place("", tag.name.as_deref().unwrap_or_default()), tag.content_unread);
            continue;
        }
        if let Some(name) = tag.name.as_deref() {
            if addresses(trim(name), agent, dialect) {
                read_content(text, &mut |found| gathered.take(&found, place("", name)));
                if tag.content_unread {
                    gathered.close("part of it could not be read", place("", name));
                }
            } else if dialect == Dialect::Strict {
                gathered.read_other_name(name, place("", name), agent);
            }
        }
        if dialect == Dialect::Strict
            && let Some(name) = tag.http_equiv.as_deref()
        {
            let place = place("http-equiv ", trim(name));
            gathered.read_header(place, agent, dialect);
            if names_us(name, agent) {
                gathered.read_restrictions(place);
            }
            if tag.content_unread && is_header(place.name) {
                gathered.close("part of it could not be read", place);
            }
        }
    }
    (gathered.said, gathered.warnings)
}

struct Gathered<'a> {
    said: Vec<PlacedTerm<'a>>,
    warnings: Vec<Warning>,
    remarks: usize,
}

impl<'a> Gathered<'a> {
    /// Reads a header line, or a tag in place of one; any other name is ignored.
    fn read_header(&mut self, place: Place<'a>, agent: &Agent, dialect: Dialect) {
        // `ours, theirs: noindex` looks like a list of names: what follows the second name may be meant for us.
        let mut is_listed = false;
        read_header_line(place.name, place.text, &mut |scope, found| {
            if let Found::Unknown(word) = found
                && (trim(word) == "*" || addresses(trim(word), agent, dialect))
            {
                is_listed = true;
                return self.warn("malformed agent scope, applied to this robot", word, place);
            }
            let is_ours = match scope {
                Scope::All => true,
                Scope::Agent(name) => addresses(name, agent, dialect),
            };
            if is_ours || is_listed && is_restriction(&found) {
                self.take(&found, place);
            }
        });
    }

    /// Reads a tag whose name isn't exactly one of ours: it may hold one (`robots, otherbot`), or be that of a
    /// header field.
    fn read_other_name(&mut self, name: &str, place: Place<'a>, agent: &Agent) {
        if names_us(name, agent) {
            self.read_restrictions(place);
        } else {
            self.read_header(Place { name: trim(place.name), ..place }, agent, Dialect::Strict);
        }
    }

    /// Reads a tag that seems to be meant for us: restrictions count, permissions don't.
    fn read_restrictions(&mut self, place: Place<'a>) {
        read_content(place.text, &mut |found| {
            if is_restriction(&found) {
                self.warn("malformed name, applied to this robot", place.name, place);
                self.take(&found, place);
            }
        });
    }

    /// Reads a tag that may be meant for us: restrictions count, permissions don't.
    fn read_unnamed(&mut self, place: Place<'a>, content_unread: bool) {
        let before = self.said.len();
        read_content(place.text, &mut |found| {
            let allows =
                |term| matches!(term, Term::All | Term::Index | Term::Follow | Term::Archive | Term::Snippet);
            if let Found::Term(term) | Found::Malformed(term) = found
                && !allows(term)
            {
                self.say(term, place);
            }
        });
        if content_unread {
            self.close("its name and a part of it could not be read", place);
        } else if self.said.len() > before {
            self.warn("its name could not be read: taken as robots", "", place);
        }
    }

    /// Treats an unreadable part as the strictest value that it might hold.
    fn close(&mut self, why: &str, place: Place<'a>) {
        for term in [Term::NoIndex, Term::NoFollow, Term::NoArchive] {
            self.say(term, place);
        }
        self.warn(&format!("{why}: taken as noindex, nofollow, noarchive"), "", place);
    }

    fn take(&mut self, found: &Found<'_>, place: Place<'a>) {
        match *found {
            Found::Term(term) => self.say(term, place),
            Found::Malformed(term) => {
                self.say(term, place);
                self.warn("malformed directive, applied", &term.to_string(), place);
            }
            Found::BadValue(text) => self.warn("the value can't be used", text, place),
            Found::Unknown(text) => self.warn("no known directive", text, place),
            Found::BadScope(text) => self.warn("malformed agent scope, applied to every robot", text, place),
            Found::Cut => self.warn("too long: of its end only restrictions were read", "", place),
        }
    }

    /// Keeps a term; after [`PLACES`] of its kind, only if it is stricter than the last one kept.
    fn say(&mut self, term: Term, place: Place<'a>) {
        match term {
            Term::None => {
                self.say(Term::NoIndex, place);
                return self.say(Term::NoFollow, place);
            }
            Term::NoCache => return self.say(Term::NoArchive, place),
            _ => {}
        }
        let is_same = |said: &&mut PlacedTerm<'_>| discriminant(&said.term) == discriminant(&term);
        let mut same = self.said.iter_mut().filter(is_same);
        let said = PlacedTerm { term, place };
        match same.nth(PLACES - 1) {
            Some(last) if term < last.term => *last = said,
            Some(_) => {}
            None => self.said.push(said),
        }
    }

    fn warn(&mut self, what: &str, text: &str, place: Place<'_>) {
        // A flood of unusable values doesn't displace warnings about values that were applied.
        let is_remark = matches!(what, "the value can't be used" | "no known directive");
        self.remarks += usize::from(is_remark);
        if is_remark && self.remarks > REMARKS || self.warnings.len() >= 2 * REMARKS {
            return;
        }
        let message = if text.is_empty() { what.to_owned() } else { format!("{what}: {}", clean(text)) };
        self.warnings.push(Warning { message, source: place.source() });
    }
}

fn is_restriction(found: &Found<'_>) -> bool {
    matches!(found, Found::Term(term) | Found::Malformed(term) if term.restricts())
}

/// Returns whether a tag or scope of this name is for us, ignoring case.
///
/// `robots` always is; our token and aliases are, but for `lycos_ru`, which knows `robots` alone; under `google` the
/// name `googlebot` is too.
fn addresses(name: &str, agent: &Agent, dialect: Dialect) -> bool {
    let is_named = |other: &str| name.eq_ignore_ascii_case(other);
    match dialect {
        Dialect::LycosRu => is_named("robots"),
        Dialect::Google => is_named("robots") || is_named("googlebot") || agent.answers_to(name),
        Dialect::Strict | Dialect::Yandex | Dialect::Inktomi => is_named("robots") || agent.answers_to(name),
    }
}

/// Returns whether a tag's name holds `robots`, `robot` or one of our names as a whole word among others, or in letters
/// that only look like it: `robots, otherbot`, `ourbot/1.0`, `ｒｏｂｏｔｓ`.
fn names_us(name: &str, agent: &Agent) -> bool {
    let is_ours = |word: &str| {
        word.eq_ignore_ascii_case("robots") || word.eq_ignore_ascii_case("robot") || agent.answers_to(word)
    };
    let is_mark = |c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c));
    if name.is_ascii() && !name.contains(['&', '%', '\\']) {
        return name.split(is_mark).any(is_ours);
    }
    names(name).iter().any(|word| is_ours(word))
}
