//! Reads a response in every way that its [`Document`] requires, and combines what the readings forbid.

use std::borrow::Cow;

use jiff::Timestamp;
use meta::{Agent, Dialect, Directives, MetaTag, Sources};

use super::both::{First, Second};
use super::page::{PageSink, UnreadMetas};
use super::sniff::{self, Markup};
use super::unread::{self, Unread};
use super::{
    Decoded, Document, ExtractInput, ExtractLimits, Extracted, decode, extract_both, extract_html, head,
    other_texts, tags, xml,
};

/// One more reading of a body: its `<meta>` elements restrict, and say nothing else.
#[derive(Debug, Clone)]
pub struct Reading {
    /// What it was read as: `HTML`, `XML`, `UTF-16LE` ...
    pub name: &'static str,
    /// The `<meta>` elements.
    pub metas: Vec<MetaTag>,
}

/// Holds what was read of a response.
#[derive(Debug, Clone, Default)]
pub struct Readings {
    /// The page, where a browser would show one.
    pub page: Option<Extracted>,
    /// The other readings.
    pub others: Vec<Reading>,
    /// What wasn't read and may have held directives, each once.
    pub unread: Vec<Unread>,
}

/// Reads a body as HTML and XML, as the document says, and as other texts where the encoding may hide directives.
///
/// `agent` is who reads it: a value that was cut matters where it addresses this robot.
pub fn read(input: &ExtractInput<'_>, document: &Document, agent: &Agent) -> Readings {
    let mut readings = Readings::default();
    if !document.html {
        return readings;
    }
    if let Some(found) = document.mismatch(input.body) {
        if document.is_markup() {
            readings.unread.push(Unread::Body(found));
        }
        return readings;
    }
    let decoded = decode(input.body, input.content_type, input.url);
    let (page, second) = if document.xml {
        extract_as_xml(input, document, &decoded)
    } else {
        extract_html_and_more(input, &decoded)
    };
    readings.note(&page.unread, &page.metas, input.limits, agent);
    let names = if document.is_xml() { ["XML", "HTML"] } else { ["HTML", "XML"] };
    if let Some(second) = second {
        readings.note(&second.unread, &second.metas, input.limits, agent);
        let metas = second.without(&page.metas);
        if !metas.is_empty() {
            readings.others.push(Reading { name: names[1], metas });
        }
    }
    if document.is_cut && !head::ends(&decoded.text, document, input.body) {
        readings.unread.push(Unread::CutHead);
    }
    let most = input.limits.value_bytes();
    let mut read_again = |name, read: &dyn Fn(&mut PageSink<'_>)| {
        let mut other = PageSink::new(input.limits, false);
        read(&mut other);
        readings.note(&other.unread, &other.metas, input.limits, agent);
        let metas = Second::of(other).without(&page.metas);
        if !metas.is_empty() {
            readings.others.push(Reading { name, metas });
        }
    };
    if page.doubts.foreign {
        read_again("HTML, svg not closed", &|sink| tags::read_other_way(&decoded.text, sink, most));
    }
    if page.doubts.select {
        read_again("HTML, select of options alone", &|sink| {
            tags::read_plain_select(&decoded.text, sink, most);
        });
    }
    if page.doubts.noscript {
        read_again("HTML, with scripts", &|sink| tags::read_with_scripts(&decoded.text, sink, most));
    }
    other_texts::each(input.body, document, &decoded, &page, &mut |name, text| {
        readings.read_other(name, text, document, input.limits, agent);
    });
    if document.is_page {
        readings.page = Some(page);
    } else {
        readings.others.push(Reading { name: names[0], metas: page.metas });
    }
    readings
}

impl Readings {
    /// Reads another text for `<meta>` elements.
    fn read_other(
        &mut self,
        name: &'static str,
        text: &str,
        document: &Document,
        limits: &ExtractLimits,
        agent: &Agent,
    ) {
        let mut page = PageSink::new(limits, false);
        page.doubts = tags::read(text, &mut page, limits.value_bytes());
        if document.xml || page.doubts.empty_raw {
            let mut of_xml = PageSink::new(limits, false);
            xml::read(text, &mut of_xml, limits.value_bytes());
            self.note(&of_xml.unread, &of_xml.metas, limits, agent);
            self.note(&page.unread, &page.metas, limits, agent);
            let new = Second::of(of_xml).without(&page.metas);
            page.metas.extend(new);
        } else {
            self.note(&page.unread, &page.metas, limits, agent);
        }
        self.others.push(Reading { name, metas: page.metas });
    }

    /// Notes which `<meta>` elements weren't read.
    fn note(&mut self, unread: &UnreadMetas, metas: &[MetaTag], limits: &ExtractLimits, agent: &Agent) {
        let addresses = |&at: &usize| metas.get(at).is_some_and(|tag| may_address(tag, agent));
        let parts = [
            unread.late.then_some(Unread::LateMeta(limits.meta_bytes)),
            unread.surplus.then_some(Unread::SurplusMetas(limits.metas)),
            unread.cut.iter().any(addresses).then_some(Unread::LongMeta(limits.meta_value_bytes)),
        ];
        for part in parts.into_iter().flatten() {
            if !self.unread.contains(&part) {
                self.unread.push(part);
            }
        }
    }

    /// Decides by header lines and all readings: the page's own words count in full, those of the others as far as they
    /// restrict. With `closes_unread_head` a page whose `<meta>` elements weren't all read may be neither indexed nor
    /// archived; one whose body can't be read may not be in any case.
    pub fn resolve(
        &self,
        headers: &[(String, String)],
        agent: &Agent,
        dialect: Dialect,
        at: Timestamp,
        closes_unread_head: bool,
    ) -> Directives {
        let metas = self.page.as_ref().map_or(&[][..], |page| &page.metas);
        let stated = meta::resolve(&Sources { headers, metas }, agent, dialect, at);
        let stated = self.others.iter().fold(stated, |stated, reading| {
            let sources = Sources { headers: &[], metas: &reading.metas };
            stated.restricted_by(meta::resolve(&sources, agent, dialect, at))
        });
        unread::close(stated, &self.unread, closes_unread_head)
    }
}

/// Reads a body as HTML, and as XML as well where its author may have meant it so.
fn extract_html_and_more(input: &ExtractInput<'_>, decoded: &Decoded<'_>) -> (Extracted, Option<Second>) {
    let page = extract_html(input, decoded);
    if page.doubts.empty_raw {
        let (page, second) = extract_both(input, decoded, &decoded.text, First::Html);
        (page, Some(second))
    } else {
        (page, None)
    }
}

/// Reads a body as HTML and as XML.
fn extract_as_xml(
    input: &ExtractInput<'_>,
    document: &Document,
    decoded: &Decoded<'_>,
) -> (Extracted, Option<Second>) {
    let first = if document.is_xml() { First::Xml } else { First::Html };
    let xml = &decoded.text;
    let is_declared = document.is_xml() || sniff::markup(input.body) == Some(Markup::Xml);
    let (page, second) = if document.is_page || !is_declared {
        extract_both(input, decoded, xml, first)
    } else {
        // A feed quotes pages in there: what it quotes is text.
        let text = without_cdata(xml);
        extract_both(input, &Decoded { text, ..*decoded }, xml, first)
    };
    (page, Some(second))
}

/// Leaves the CDATA sections of an XML document out, which HTML doesn't know.
fn without_cdata(text: &str) -> Cow<'_, str> {
    const START: &str = "<![CDATA[";
    if !text.contains(START) {
        return text.into();
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, section)) = rest.split_once(START) {
        kept.push_str(before);
        let Some((_, after)) = section.split_once("]]>") else {
            // Sections without end hide nothing.
            rest = "";
            kept.push_str(&section.replace(START, ""));
            break;
        };
        rest = after;
    }
    kept.push_str(rest);
    kept.into()
}

/// Returns whether a tag may address the robot.
fn may_address(tag: &MetaTag, agent: &Agent) -> bool {
    const FOR_ALL: [&str; 5] = ["robots", "document-state", "tdm-reservation", "x-robots-tag", "robots-tag"];
    let is_ours = |name: &Option<String>| {
        name.as_deref().is_some_and(|name| {
            // Marks that authors print around a name don't hide it.
            let name = name.trim_matches(|c: char| !c.is_alphanumeric());
            FOR_ALL.iter().any(|known| name.eq_ignore_ascii_case(known)) || agent.answers_to(name)
        })
    };
    is_ours(&tag.name) || is_ours(&tag.http_equiv)
}
