//! Gathers the terms that address us, each with its place.

use crate::header::read_header_line;
use crate::tag::{read_content, tag_name};
use crate::walk::Found;
use crate::{Agent, Dialect, Origin, Scope, Source, Sources, Term, Warning};

/// Statements that are kept of one page; more is no author's work.
const MOST: usize = 10_000;

/// Is one term that addresses us.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    pub term: Term,
    pub source: Source,
}

/// Gathers what headers and tags say to this agent in this dialect, in order, and what couldn't be used.
/// `none` is taken apart into its two terms, `nocache` is `noarchive`.
pub(crate) fn gather(sources: &Sources<'_>, agent: &Agent, dialect: Dialect) -> (Vec<Said>, Vec<Warning>) {
    let mut gathered = Gathered { said: Vec::new(), warnings: Vec::new() };
    for (number, (name, value)) in sources.headers.iter().enumerate() {
        let source = || Source::new(Origin::Header, u32::try_from(number).unwrap_or(u32::MAX), name, value);
        gathered.read_header(name, value, agent, dialect, &source);
    }
    for tag in sources.metas {
        let Some(content) = &tag.content else { continue };
        if let Some(name) = &tag.name {
            let name = tag_name(name);
            if addresses(&name, agent, dialect) {
                let source = || Source::new(Origin::Meta, tag.position, &name, content);
                read_content(content, &mut |found| gathered.take(&found, &source));
            }
        }
        if dialect == Dialect::Strict
            && let Some(name) = tag.http_equiv.as_deref().map(tag_name)
            && (name == "x-robots-tag" || name == "robots-tag")
        {
            let source = || Source::new(Origin::Meta, tag.position, &format!("http-equiv {name}"), content);
            gathered.read_header(&name, content, agent, dialect, &source);
        }
    }
    (gathered.said, gathered.warnings)
}

struct Gathered {
    said: Vec<Said>,
    warnings: Vec<Warning>,
}

impl Gathered {
    fn read_header(
        &mut self,
        name: &str,
        value: &str,
        agent: &Agent,
        dialect: Dialect,
        source: &dyn Fn() -> Source,
    ) {
        read_header_line(name, value, &mut |scope, found| {
            let is_ours = match scope {
                Scope::All => true,
                Scope::Agent(name) => addresses(name, agent, dialect),
            };
            if is_ours {
                self.take(&found, source);
            }
        });
    }

    fn take(&mut self, found: &Found<'_>, source: &dyn Fn() -> Source) {
        if self.said.len() + self.warnings.len() >= MOST {
            return;
        }
        let term = match *found {
            Found::Term(Term::None) => {
                self.said.push(Said { term: Term::NoIndex, source: source() });
                Term::NoFollow
            }
            Found::Term(Term::NoCache) => Term::NoArchive,
            Found::Term(term) => term,
            Found::BadValue(text) => return self.warn("the value can't be used", text, source),
            Found::Unknown(text) => return self.warn("no known directive", text, source),
            Found::Cut => return self.warn("too long: its end was not read", "", source),
        };
        self.said.push(Said { term, source: source() });
    }

    fn warn(&mut self, what: &str, text: &str, source: &dyn Fn() -> Source) {
        let message = if text.is_empty() {
            what.to_owned()
        } else {
            format!("{what}: {}", crate::evidence::clean(text))
        };
        self.warnings.push(Warning { message, source: source() });
    }
}

/// Tells whether a tag or scope of this name is for us.
///
/// `robots` always is; our token and aliases are, but for `lycos_ru`, which knows `robots` alone; under `google` the
/// name `googlebot` is too.
fn addresses(name: &str, agent: &Agent, dialect: Dialect) -> bool {
    match dialect {
        Dialect::LycosRu => name == "robots",
        Dialect::Google => name == "robots" || name == "googlebot" || agent.answers_to(name),
        Dialect::Strict | Dialect::Yandex | Dialect::Inktomi => name == "robots" || agent.answers_to(name),
    }
}
