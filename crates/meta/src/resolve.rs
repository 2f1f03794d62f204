//! Resolves header lines and meta tags into the decision, in five dialects.

use jiff::Timestamp;

use crate::gather::{Place, PlacedTerm, gather};
use crate::{
    Agent, Consent, Dialect, DirectiveSource, Directives, Limit, MetaTag, SourceKind, Term, about, consent,
};

/// The inputs: header lines of the response and meta elements of the page.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sources<'a> {
    /// Header field lines in order, each by itself: joining two lines would change their agent scopes.
    pub headers: &'a [(String, String)],
    /// Meta elements in document order.
    pub metas: &'a [MetaTag],
}

/// Decides what the sources ask of this agent at this time.
///
/// Total and linear in the text: any text gives a decision, what couldn't be used gives a warning.
///
/// ```
/// use meta::{Agent, Dialect, MetaTag, Sources, resolve};
///
/// let headers = [("X-Robots-Tag".to_owned(), "otherbot: noindex".to_owned())];
/// let tag = MetaTag { name: Some("robots".into()), content: Some("nofollow".into()), ..MetaTag::default() };
/// let sources = Sources { headers: &headers, metas: &[tag] };
/// let agent = Agent::new("SuperRobot/1.0");
/// let directives = resolve(&sources, &agent, Dialect::Strict, jiff::Timestamp::UNIX_EPOCH);
/// assert!(directives.index && !directives.follow);
/// assert_eq!(directives.because[0].to_string(), "nofollow (meta robots: nofollow)");
/// ```
pub fn resolve(sources: &Sources<'_>, agent: &Agent, dialect: Dialect, now: Timestamp) -> Directives {
    let (said, warnings) = gather(sources, agent, dialect);
    let mut directives = Directives { warnings, ..Directives::default() };
    for PlacedTerm { term, place } in in_dialect(said, dialect) {
        apply(term, &place, &mut directives);
    }
    consent::tdm::read_response(sources, &mut directives);
    about::read_headers(sources.headers, &mut directives);
    about::read_metas(sources.metas, &mut directives);
    directives.sort_evidence();
    directives.at(now)
}

/// Removes the restrictions that the dialect lifts and adds its defaults.
fn in_dialect(mut said: Vec<PlacedTerm<'_>>, dialect: Dialect) -> Vec<PlacedTerm<'_>> {
    match dialect {
        Dialect::Strict => {}
        Dialect::Google => said.retain(|said| said.term != Term::NoArchive),
        Dialect::Yandex => {
            // Allowing terms exist in tags alone; they beat what tags and headers prohibit.
            let in_tags: Vec<Term> = terms(said.iter().filter(|said| said.place.origin == SourceKind::Meta));
            let is_allowed = |by: &[Term]| by.iter().any(|term| in_tags.contains(term));
            said.retain(|said| match said.term {
                Term::NoIndex => !is_allowed(&[Term::Index, Term::All]),
                Term::NoFollow => !is_allowed(&[Term::Follow, Term::All]),
                Term::NoArchive => !is_allowed(&[Term::Archive]),
                _ => true,
            });
        }
        Dialect::LycosRu => {
            let all = terms(said.iter());
            let is_lifted = |by: Term| all.contains(&by) || all.contains(&Term::All);
            // The terms of 1997; what came later doesn't count as company of NOINDEX.
            let known = [Term::All, Term::Index, Term::NoIndex, Term::Follow, Term::NoFollow];
            let noindex_alone =
                all.iter().filter(|term| known.contains(term)).all(|term| *term == Term::NoIndex);
            said.retain(|said| match said.term {
                Term::NoIndex => !is_lifted(Term::Index),
                Term::NoFollow => !is_lifted(Term::Follow),
                Term::NoArchive => !is_lifted(Term::Archive),
                Term::NoSnippet => !is_lifted(Term::Snippet),
                _ => true,
            });
            let noindex = said.iter().find(|said| said.term == Term::NoIndex).copied();
            if let Some(noindex) = noindex.filter(|_| noindex_alone) {
                said.push(PlacedTerm { term: Term::NoFollow, ..noindex });
            }
        }
        Dialect::Inktomi => {
            if !said.iter().any(|said| matches!(said.term, Term::Follow | Term::All)) {
                let (origin, text) = (SourceKind::Dialect, "index, nofollow");
                let place = Place { origin, position: 0, attribute: "", name: dialect.name(), text };
                said.push(PlacedTerm { term: Term::NoFollow, place });
            }
        }
    }
    said
}

fn terms<'a>(said: impl Iterator<Item = &'a PlacedTerm<'a>>) -> Vec<Term> {
    said.map(|said| said.term).collect()
}

/// Applies one term: it can only restrict.
fn apply(term: Term, place: &Place<'_>, directives: &mut Directives) {
    match term {
        Term::NoIndex => directives.index = false,
        Term::NoFollow => directives.follow = false,
        Term::NoArchive => directives.archive = false,
        Term::NoSnippet => directives.snippet = false,
        Term::NoImageIndex => directives.imageindex = false,
        Term::NoTranslate => directives.translate = false,
        Term::IndexIfEmbedded => directives.indexifembedded = true,
        Term::MaxSnippet(limit) => {
            lower(&mut directives.max_snippet, limit);
            directives.snippet &= limit != Limit::AtMost(0);
        }
        Term::MaxImagePreview(size) => lower(&mut directives.max_image_preview, size),
        Term::MaxVideoPreview(limit) => lower(&mut directives.max_video_preview, limit),
        Term::UnavailableAfter(date) => lower(&mut directives.unavailable_after, date),
        Term::NoAi | Term::NoMl => {
            directives.ai_train = Some(Consent::Deny);
            directives.ai_train_images = Some(Consent::Deny);
        }
        Term::NoImageAi => directives.ai_train_images = Some(Consent::Deny),
        // Recorded, without effect.
        Term::NoOdp | Term::NoYdir | Term::NoYaca | Term::NoSitelinksSearchBox => {}
        // The first five say what holds anyway, the last two were taken apart by `gather`.
        Term::All
        | Term::Index
        | Term::Follow
        | Term::Archive
        | Term::Snippet
        | Term::None
        | Term::NoCache => return,
    }
    directives.because.push(DirectiveSource { directive: term.to_string(), source: place.source() });
}

fn lower<T: Ord>(kept: &mut Option<T>, limit: T) {
    if kept.as_ref().is_none_or(|kept| limit < *kept) {
        *kept = Some(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(name: &str, content: &str) -> MetaTag {
        MetaTag { name: Some(name.into()), content: Some(content.into()), ..MetaTag::default() }
    }

    /// Gives index, follow and archive for the agent examplebot.
    fn flags(header: &str, metas: &[MetaTag], dialect: Dialect) -> [bool; 3] {
        let headers = [("X-Robots-Tag".to_owned(), header.to_owned())];
        let agent = Agent::new("examplebot");
        let d = resolve(&Sources { headers: &headers, metas }, &agent, dialect, Timestamp::UNIX_EPOCH);
        [d.index, d.follow, d.archive]
    }

    #[test]
    fn in_yandex_a_tag_lifts_tags_and_headers_and_no_header_lifts() {
        let all = [tag("robots", "all, archive"), tag("robots", "none, noarchive")];
        assert_eq!(flags("", &all, Dialect::Yandex), [true; 3]);
        assert_eq!(flags("none, noarchive", &all, Dialect::Yandex), [true; 3]);
        assert_eq!(flags("none", &[tag("robots", "index")], Dialect::Yandex), [true, false, true]);
        assert_eq!(flags("noindex", &[tag("examplebot", "all")], Dialect::Yandex), [true; 3]);
        assert_eq!(flags("all", &[tag("robots", "none")], Dialect::Yandex), [false, false, true]);
        assert_eq!(flags("noindex, index", &[], Dialect::Yandex), [false, true, true]);
        assert_eq!(flags("", &[tag("robots", "none, index")], Dialect::Yandex), [true, false, true]);
        // The dialect of a crawl keeps the stricter.
        assert_eq!(flags("none, noarchive", &all, Dialect::default()), [false; 3]);
        assert_eq!(
            flags("noindex", &[tag("robots", "all, archive")], Dialect::default()),
            [false, true, true]
        );
    }

    /// `docs/directives.md`, table of the dialects: the positive of a pair wins.
    #[test]
    fn in_lycos_ru_each_permission_lifts_its_prohibition() {
        let read = |content: &str| {
            let metas = [tag("robots", content)];
            let sources = Sources { headers: &[], metas: &metas };
            let d = resolve(&sources, &Agent::new("examplebot"), Dialect::LycosRu, Timestamp::UNIX_EPOCH);
            [d.index, d.follow, d.archive, d.snippet]
        };
        let prohibited = "noindex, nofollow, noarchive, nosnippet";
        for (permitted, expected) in [
            ("", [false, false, false, false]),
            ("index", [true, false, false, false]),
            ("follow", [false, true, false, false]),
            ("archive", [false, false, true, false]),
            ("snippet", [false, false, false, true]),
        ] {
            assert_eq!(read(&format!("{prohibited}, {permitted}")), expected, "{permitted}");
        }
    }

    #[test]
    fn a_header_name_as_http_equiv_counts_in_strict_alone() {
        let equiv = MetaTag {
            http_equiv: Some("X-Robots-Tag".into()),
            content: Some("noindex".into()),
            ..MetaTag::default()
        };
        for dialect in Dialect::ALL {
            let [index, ..] = flags("", std::slice::from_ref(&equiv), dialect);
            assert_eq!(index, dialect != Dialect::Strict, "{dialect}");
        }
    }

    #[test]
    fn what_could_not_be_read_restricts() {
        let closed = [false; 3];
        let agent = Agent::new("examplebot");
        for (tag, expected) in [
            (MetaTag { content_unread: true, ..tag("robots", "index, &x;") }, closed),
            (MetaTag { content_unread: true, ..tag("ExampleBot", "&x;") }, closed),
            (MetaTag { content_unread: true, ..tag("description", "&x;") }, [true; 3]),
            (MetaTag { name_unread: true, content_unread: true, ..tag("&x;", "&y;") }, closed),
            (MetaTag { name_unread: true, ..tag("&x;", "nofollow, archive") }, [true, false, true]),
            (MetaTag { name_unread: true, ..tag("&x;", "width=device-width") }, [true; 3]),
        ] {
            let sources = Sources { headers: &[], metas: std::slice::from_ref(&tag) };
            let d = resolve(&sources, &agent, Dialect::Strict, Timestamp::UNIX_EPOCH);
            assert_eq!([d.index, d.follow, d.archive], expected, "{tag:?}");
            assert_eq!(
                d.warnings.iter().any(|w| w.message.contains("could not be read")),
                expected != [true; 3],
                "{tag:?}"
            );
            assert!(d.because.iter().all(|b| b.source.text == *tag.content.as_ref().unwrap()));
        }
        let equiv = MetaTag { name: None, http_equiv: Some("X-Robots-Tag".into()), ..tag("", "&x;") };
        assert_eq!(flags("", &[MetaTag { content_unread: true, ..equiv.clone() }], Dialect::Strict), closed);
        assert_eq!(flags("", &[equiv], Dialect::Strict), [true; 3]);
        // Nothing that may be for others lifts what is for us.
        let lifts = MetaTag { name_unread: true, ..tag("&x;", "all, archive") };
        assert_eq!(flags("", &[lifts, tag("robots", "none, noarchive")], Dialect::Yandex), closed);
    }

    #[test]
    fn each_dialect_has_its_names() {
        let names = ["robots", "examplebot", "googlebot", "otherbot"];
        for (dialect, heard) in [
            (Dialect::Strict, "robots examplebot"),
            (Dialect::Google, "robots examplebot googlebot"),
            (Dialect::Yandex, "robots examplebot"),
            (Dialect::LycosRu, "robots"),
            (Dialect::Inktomi, "robots examplebot"),
        ] {
            let is_heard = |name: &&str| !flags("", &[tag(name, "noindex")], dialect)[0];
            assert_eq!(names.into_iter().filter(is_heard).collect::<Vec<_>>().join(" "), heard, "{dialect}");
        }
    }

    #[test]
    fn evidence_is_bounded_for_each_directive() {
        let tags: Vec<_> = (0..100).map(|position| MetaTag { position, ..tag("robots", "none") }).collect();
        let agent = Agent::new("examplebot");
        let sources = Sources { headers: &[], metas: &tags };
        let directives = resolve(&sources, &agent, Dialect::Strict, Timestamp::UNIX_EPOCH);
        let positions: Vec<_> = directives.because.iter().map(|because| because.source.position).collect();
        assert_eq!(positions, (0..16).chain(0..16).collect::<Vec<_>>());
    }
}
