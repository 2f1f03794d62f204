//! Which kinds of site a host has, and where on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::glob::{is_value, segments};
use crate::kind::{Kind, Kinds, What};
use crate::url::Parts;

/// Bytes of markup that are looked through for signs.
const LOOKED_AT: usize = 256 * 1024;

/// Longest word that is taken from a page, in bytes.
const WORD: usize = 200;

/// What a page says of the program that made it.
#[derive(Clone, Copy, Debug)]
pub struct PageSigns<'a> {
    /// URL of the page that shows the signs.
    pub url: &'a str,
    /// The contents of `<meta name=generator>`.
    pub generators: &'a [&'a str],
    /// Header fields: names and values, in any order.
    pub headers: &'a [(&'a str, &'a str)],
    /// The markup, or its beginning. 256 KiB are looked through.
    pub markup: &'a str,
}

/// A kind of site that a page shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shown {
    /// The name of the kind.
    pub kind: String,
    /// Where the site begins on its host: `/` or `/blog/`.
    pub prefix: String,
    /// The site's own word for what the kind has a word for, such as `Spezial` for the namespace `Special` of a wiki.
    pub word: Option<String>,
}

/// The kinds of one host. They add up: a blog with a shop has two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    shown: Vec<Shown>,
}

/// Most kinds of a host: what shows more than these is no site of one owner, and has the rules of any site for the rest.
const MOST: usize = 64;

impl Site {
    /// Adds what a page showed, and tells whether anything is new: then what is queued of the host is to be judged again.
    pub fn add(&mut self, shown: Vec<Shown>) -> bool {
        let mut is_new = false;
        for shown in shown {
            let has_room = self.shown.len() < MOST;
            let same =
                self.shown.iter_mut().find(|known| known.kind == shown.kind && known.prefix == shown.prefix);
            match same {
                Some(known) if known.word.is_none() && shown.word.is_some() => {
                    known.word = shown.word;
                    is_new = true;
                }
                None if has_room => {
                    self.shown.push(shown);
                    is_new = true;
                }
                _ => {}
            }
        }
        self.shown.sort();
        is_new
    }

    /// What the host has shown, in a fixed order.
    pub fn shown(&self) -> &[Shown] {
        &self.shown
    }

    /// The kinds in whose part of the host a path is.
    pub(crate) fn at<'a>(
        &'a self,
        path: &str,
        kinds: &'a Kinds,
    ) -> impl Iterator<Item = (&'a Kind, &'a Shown)> {
        let path = format!("{path}/");
        self.shown
            .iter()
            .filter(move |shown| path.starts_with(&shown.prefix))
            .filter_map(|shown| Some((kinds.get(&shown.kind)?, shown)))
    }
}

/// The kinds that a page shows: by one strong sign, or two weak ones. A word in its text is no sign.
///
/// One pass over the markup for the signs of all kinds. A crawler asks for the first pages of each part of a host alone.
pub fn recognise(page: &PageSigns<'_>, kinds: &Kinds) -> Vec<Shown> {
    let Some(parts) = Parts::new(page.url) else { return Vec::new() };
    let mut end = page.markup.len().min(LOOKED_AT);
    while !page.markup.is_char_boundary(end) {
        end -= 1;
    }
    let markup = &page.markup[..end];
    let in_tags = kinds.in_tags(markup);
    let mut shown = Vec::new();
    for kind in kinds.iter() {
        let (mut strong, mut weak, mut cookie_path) = (false, 0, None);
        for sign in &kind.signs {
            let holds = match &sign.what {
                What::Generator(start) => {
                    page.generators.iter().any(|text| text.trim().to_lowercase().starts_with(start))
                }
                What::Cookie(name) => {
                    let path =
                        cookies(page.headers).find(|(own, _)| is_value(name, own)).map(|(_, path)| path);
                    let is_there = path.is_some();
                    cookie_path = cookie_path.or(path.flatten());
                    is_there
                }
                What::Header(name, part) => page
                    .headers
                    .iter()
                    .any(|(own, value)| own.eq_ignore_ascii_case(name) && value.contains(part.as_str())),
                What::Markup(text) => in_tags.contains(text.as_str()),
                What::Path(pattern) => pattern.is(&segments(parts.path).collect::<Vec<_>>()),
            };
            strong |= holds && !sign.is_weak;
            weak += usize::from(holds && sign.is_weak);
        }
        if strong || weak >= 2 {
            let by_mount = kind.mounts.iter().find_map(|mount| mounted(mount, &parts, page.headers, markup));
            let prefix = by_mount.or_else(|| cookie_path.map(with_slashes)).unwrap_or_else(|| "/".to_owned());
            // A page shows nothing of a part of the host in which it isn't.
            let is_within = format!("{}/", parts.path).starts_with(&prefix);
            let prefix = if is_within { prefix } else { "/".to_owned() };
            shown.push(Shown { kind: kind.name.clone(), prefix, word: word(kind, markup) });
        }
    }
    shown
}

/// Names of cookies that are set, and their paths.
fn cookies<'a>(headers: &'a [(&'a str, &'a str)]) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
    headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")).map(|(_, value)| {
        let name = value.split(['=', ';']).next().unwrap_or_default().trim();
        let path = value.split(';').skip(1).find_map(|part| {
            let (name, path) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("path").then_some(path.trim())
        });
        (name, path)
    })
}

/// Where a site begins, by a path that it has: the page's own, one of a link in the header, or one in a tag.
fn mounted(mount: &str, page: &Parts<'_>, headers: &[(&str, &str)], markup: &str) -> Option<String> {
    if let Some(start) = page.path.find(mount) {
        return Some(with_slashes(&page.path[..start]));
    }
    let links = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("link")).map(|(_, value)| *value);
    links.chain([markup]).find_map(|text| {
        let start = text.find(mount)?;
        let before = &text[..start];
        let begin = before.rfind(['"', '\'', '<', '=', '(', ' ', '\n']).map_or(0, |at| at + 1);
        let reference = &before[begin..];
        match reference.split_once("//") {
            Some((_, rest)) => {
                let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
                (host == page.host).then(|| with_slashes(path))
            }
            None => (reference.is_empty() || reference.starts_with('/')).then(|| with_slashes(reference)),
        }
    })
}

fn with_slashes(path: &str) -> String {
    match path.trim_matches('/') {
        "" => "/".to_owned(),
        path => format!("/{path}/"),
    }
}

/// The site's own word, as its pages give it.
fn word(kind: &Kind, markup: &str) -> Option<String> {
    let mut rest = markup;
    for after in &kind.words.as_ref()?.after {
        rest = rest.split_once(after.as_str())?.1;
    }
    let end = rest.find('"').filter(|end| (1..=WORD).contains(end))?;
    let word = unescaped(&rest[..end])?;
    Some(word.replace(' ', "_")).filter(|word| !word.contains(['/', ':', '{', '}']))
}

/// A string of JSON without its escapes `\u0421`; none if it has others.
fn unescaped(text: &str) -> Option<String> {
    let mut pieces = text.split("\\u");
    let mut plain = pieces.next()?.to_owned();
    for piece in pieces {
        let code = u32::from_str_radix(piece.get(..4)?, 16).ok()?;
        plain.push(char::from_u32(code)?);
        plain.push_str(&piece[4..]);
    }
    (!plain.contains('\\')).then_some(plain)
}

/// The kinds of many hosts.
#[derive(Clone, Debug, Default)]
pub struct Sites(BTreeMap<String, Site>);

impl Sites {
    /// Adds what a page of a host showed; see [`Site::add`].
    pub fn add(&mut self, host: &str, shown: Vec<Shown>) -> bool {
        !shown.is_empty() && self.0.entry(host.to_owned()).or_default().add(shown)
    }

    /// The kinds of a host.
    pub fn get(&self, host: &str) -> Option<&Site> {
        self.0.get(host)
    }
}
