//! Gathers the terms that address us, each with its place.

use crate::evidence::clean;
use crate::header::read_header_line;
use crate::tag::{read_content, tag_name};
use crate::walk::{Found, trim};
use crate::{Agent, Dialect, Origin, Scope, Source, Sources, Term, Warning};

/// Statements that are kept of one page; more is no author's work.
const MOST: usize = 10_000;

/// Is one term that addresses us, with its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Said<'a> {
    pub term: Term,
    pub place: Place<'a>,
}

/// Is a place that something was said in: what a [`Source`] is made of when it's needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place<'a> {
    pub origin: Origin,
    pub position: u32,
    /// Stands before the name: `http-equiv `.
    pub attribute: &'static str,
    pub name: &'a str,
    pub text: &'a str,
}

impl Place<'_> {
    pub(crate) fn source(&self) -> Source {
        match self.origin {
            Origin::Meta => {
                let name = format!("{}{}", self.attribute, tag_name(self.name));
                Source::new(self.origin, self.position, &name, self.text)
            }
            _ => Source::new(self.origin, self.position, self.name, self.text),
        }
    }
}

/// Gathers what headers and tags say to this agent in this dialect, in order, and what couldn't be used.
/// `none` is taken apart into its two terms, `nocache` is `noarchive`.
pub(crate) fn gather<'a>(
    sources: &Sources<'a>,
    agent: &Agent,
    dialect: Dialect,
) -> (Vec<Said<'a>>, Vec<Warning>) {
    let mut gathered = Gathered { said: Vec::new(), warnings: Vec::new() };
    for (position, (name, text)) in (0..).zip(sources.headers) {
        let place = Place { origin: Origin::Header, position, attribute: "", name, text };
        gathered.read_header(place, agent, dialect);
    }
    for tag in sources.metas {
        let Some(text) = tag.content.as_deref() else { continue };
        let place =
            |attribute, name| Place { origin: Origin::Meta, position: tag.position, attribute, name, text };
        if let Some(name) = tag.name.as_deref()
            && addresses(trim(name), agent, dialect)
        {
            read_content(text, &mut |found| gathered.take(&found, place("", name)));
        }
        if dialect == Dialect::Strict
            && let Some(name) = tag.http_equiv.as_deref()
        {
            gathered.read_header(place("http-equiv ", trim(name)), agent, dialect);
        }
    }
    (gathered.said, gathered.warnings)
}

struct Gathered<'a> {
    said: Vec<Said<'a>>,
    warnings: Vec<Warning>,
}

impl<'a> Gathered<'a> {
    /// Reads a header line, or a tag that stands for one; of another name it says nothing.
    fn read_header(&mut self, place: Place<'a>, agent: &Agent, dialect: Dialect) {
        read_header_line(place.name, place.text, &mut |scope, found| {
            let is_ours = match scope {
                Scope::All => true,
                Scope::Agent(name) => addresses(name, agent, dialect),
            };
            if is_ours {
                self.take(&found, place);
            }
        });
    }

    fn take(&mut self, found: &Found<'_>, place: Place<'a>) {
        if self.said.len() + self.warnings.len() >= MOST {
            return;
        }
        let term = match *found {
            Found::Term(Term::None) => {
                self.said.push(Said { term: Term::NoIndex, place });
                Term::NoFollow
            }
            Found::Term(Term::NoCache) => Term::NoArchive,
            Found::Term(term) => term,
            Found::BadValue(text) => return self.warn("the value can't be used", text, place),
            Found::Unknown(text) => return self.warn("no known directive", text, place),
            Found::Cut => return self.warn("too long: its end was not read", "", place),
        };
        self.said.push(Said { term, place });
    }

    fn warn(&mut self, what: &str, text: &str, place: Place<'_>) {
        let message = if text.is_empty() { what.to_owned() } else { format!("{what}: {}", clean(text)) };
        self.warnings.push(Warning { message, source: place.source() });
    }
}

/// Tells whether a tag or scope of this name is for us, ignoring case.
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
