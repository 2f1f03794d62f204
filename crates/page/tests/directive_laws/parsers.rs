//! What other parsers find in a page: html5ever in a tree, quick-xml by its namespaces.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

use crate::pages::{Kind, Page};
use crate::tree;

/// What is forbidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Found {
    pub(crate) index: bool,
    pub(crate) archive: bool,
    pub(crate) follow: bool,
}

impl Found {
    /// Returns whether something is forbidden that `other` allows.
    pub(crate) fn is_beyond(self, other: Found) -> bool {
        self.index && !other.index || self.archive && !other.archive || self.follow && !other.follow
    }

    /// Takes the words of one meta element in.
    fn take(&mut self, name: Option<&str>, http_equiv: Option<&str>, content: Option<&str>) {
        let is_ours = name
            .is_some_and(|n| matches!(&*n.trim().to_ascii_lowercase(), "robots" | "examplebot"))
            || http_equiv.is_some_and(|n| n.trim().eq_ignore_ascii_case("x-robots-tag"));
        if !is_ours {
            return;
        }
        let content = content.unwrap_or_default().to_ascii_lowercase();
        for word in content.split(|c: char| !c.is_ascii_alphanumeric()) {
            self.index |= matches!(word, "noindex" | "none");
            self.archive |= matches!(word, "noarchive" | "nocache");
            self.follow |= matches!(word, "nofollow" | "none");
        }
    }
}

/// What each parser finds, in the text as a browser decodes it and as its author wrote it.
pub(crate) fn find(page: &Page) -> Vec<(&'static str, Found)> {
    let body = page.body();
    let written = page.text();
    let begins_xml = written.trim_start().starts_with("<?xml");
    let is_xml = page.kind == Kind::Xml || begins_xml;
    let begins_markup = written
        .trim_start()
        .strip_prefix('<')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!') || begins_xml);
    let mut found = Vec::new();
    if page.kind == Kind::Other && !begins_markup {
        return found;
    }
    // Feeds quote pages in sections of CDATA, which HTML doesn't know.
    if !is_xml || page.kind == Kind::Html || !written.contains("<![CDATA[") {
        found.push(("html5ever", in_tree(&decoded(page, &body, false))));
        found.push(("html5ever, as written", in_tree(&written)));
    }
    if is_xml {
        found.push(("quick-xml", in_xml(&decoded(page, &body, true))));
        found.push(("quick-xml, as written", in_xml(&written)));
    }
    found
}

/// Decodes as a browser does (HTML standard 13.2.3.2; XML 1.0, appendix F).
fn decoded(page: &Page, body: &[u8], as_xml: bool) -> String {
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return encoding.decode_without_bom_handling(&body[length..]).0.into_owned();
    }
    let label = |label: &'static str| Encoding::for_label(label.as_bytes());
    let is_declared_inside = || {
        // A declaration that isn't written in ASCII isn't found.
        let inside = page.encoding.inside?;
        let is_there =
            |form: String| body[..body.len().min(1024)].windows(form.len()).any(|w| w == form.as_bytes());
        let is_xml =
            is_there(format!("<?xml version=\"1.0\" encoding=\"{inside}\"")) && body.starts_with(b"<?xml");
        let is_meta = !as_xml && is_there(format!("<meta charset=\"{inside}\""));
        (is_xml || is_meta).then(|| label(inside)).flatten()
    };
    let inside = is_declared_inside().map(|encoding| {
        if encoding == UTF_16BE || encoding == UTF_16LE {
            UTF_8
        } else if encoding.name() == "x-user-defined" {
            WINDOWS_1252
        } else {
            encoding
        }
    });
    let default = if as_xml { UTF_8 } else { WINDOWS_1252 };
    let encoding = page.encoding.header.and_then(label).or(inside).unwrap_or(default);
    encoding.decode_without_bom_handling(body).0.into_owned()
}

/// Looks through a tree: everywhere but in templates.
fn in_tree(html: &str) -> Found {
    let mut found = Found::default();
    for meta in tree::metas(html) {
        let value = |name| meta.attribute(name);
        let (name, http_equiv, content) = (value("name"), value("http-equiv"), value("content"));
        found.take(name.as_deref(), http_equiv.as_deref(), content.as_deref());
    }
    found
}

/// Looks through a document up to its first error: everywhere but in templates.
fn in_xml(xml: &str) -> Found {
    const XHTML: ResolveResult<'_> =
        ResolveResult::Bound(quick_xml::name::Namespace("http://www.w3.org/1999/xhtml"));
    let mut reader = NsReader::from_str(xml);
    let mut found = Found::default();
    let mut templates = 0_usize;
    let mut entities: Vec<(String, String)> = Vec::new();
    while let Ok((namespace, event)) = reader.read_resolved_event() {
        let is_xhtml = namespace == XHTML;
        match event {
            Event::Eof => break,
            Event::DocType(text) => entities = declared(&text),
            Event::Start(tag) | Event::Empty(tag) if is_xhtml && is_named(&tag, "meta") && templates == 0 => {
                let value = |name: &str| {
                    let attribute = tag.attributes().flatten().find(|a| a.key.into_inner() == name)?;
                    let known = |name: &str| {
                        let own =
                            entities.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
                        own.or_else(|| quick_xml::escape::resolve_predefined_entity(name))
                    };
                    Some(
                        attribute.normalized_value_with(XmlVersion::Implicit1_0, 8, known).ok()?.into_owned(),
                    )
                };
                let (name, http_equiv, content) = (value("name"), value("http-equiv"), value("content"));
                found.take(name.as_deref(), http_equiv.as_deref(), content.as_deref());
            }
            Event::Start(tag) if is_xhtml && is_named(&tag, "template") => templates += 1,
            Event::End(tag) if is_xhtml && tag.local_name().into_inner() == "template" => {
                templates = templates.saturating_sub(1);
            }
            _ => {}
        }
    }
    found
}

fn is_named(tag: &BytesStart<'_>, name: &str) -> bool {
    tag.local_name().into_inner() == name
}

/// The entities of an internal subset, in the one form that the pages have.
fn declared(doctype: &str) -> Vec<(String, String)> {
    let declaration = |text: &str| {
        let (name, rest) = text.trim_start().split_once(' ')?;
        let quote = rest.chars().next()?;
        Some((name.to_owned(), rest[1..].split(quote).next()?.to_owned()))
    };
    doctype.split("<!ENTITY").skip(1).filter_map(declaration).collect()
}
