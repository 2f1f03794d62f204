//! Combines two readings of the same document, as HTML and as XML: restrictions of either apply.

use std::collections::{HashMap, HashSet};

use meta::MetaTag;

use super::page::{About, PageSink, UnreadMetas, before_fragment};

/// Names the reading that a browser makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Html,
    Xml,
}

/// Holds the metas of the reading that isn't the first.
#[derive(Debug)]
pub(super) struct Second {
    pub(super) metas: Vec<MetaTag>,
    pub(super) unread: UnreadMetas,
}

impl Second {
    pub(super) fn of(page: PageSink<'_>) -> Second {
        Second { metas: page.metas, unread: page.unread }
    }

    /// Drops the metas that the first reading has, too.
    pub(super) fn without(mut self, first: &[MetaTag]) -> Vec<MetaTag> {
        let known: HashSet<_> = first.iter().collect();
        self.metas.retain(|meta| !known.contains(meta));
        self.metas
    }
}

/// Adds what the XML reading found to what the HTML reading found, but for the metas of the reading that isn't the first.
///
/// Links are the union of both; one is `nofollow` where one of the readings has its address under `nofollow` alone. The
/// title is that of the XML reading: in the HTML reading an empty element may have swallowed tags.
pub(super) fn unite(html: &mut PageSink<'_>, mut xml: PageSink<'_>, first: First) -> Second {
    html.close();
    xml.close();
    let swap = first == First::Xml;
    html.base = in_order(html.base.take(), xml.base.take(), swap);
    html.language = in_order(html.language.take(), xml.language.take(), swap);
    unite_links(html, &xml);
    if xml.title.is_some() {
        html.title = xml.title;
    } else if html.title.as_ref().is_some_and(|title| title.contains(b'<')) {
        html.title = None;
    }
    if swap {
        html.json_ld = xml.json_ld;
        html.bad_json_ld = xml.bad_json_ld;
        html.text = xml.text;
    }
    html.to_itself = html.to_itself.max(xml.to_itself);
    html.other_schemes = html.other_schemes.max(xml.other_schemes);
    html.repeated = html.repeated.max(xml.repeated);
    for limit in xml.limits_hit {
        html.hit(limit);
    }
    if swap {
        std::mem::swap(&mut html.metas, &mut xml.metas);
        std::mem::swap(&mut html.unread, &mut xml.unread);
    }
    Second { metas: xml.metas, unread: xml.unread }
}

fn in_order<T>(html: Option<T>, xml: Option<T>, is_xml_first: bool) -> Option<T> {
    if is_xml_first { xml.or(html) } else { html.or(xml) }
}

fn unite_links(html: &mut PageSink<'_>, xml: &PageSink<'_>) {
    let mut closed = addresses_without_follow(html);
    closed.extend(addresses_without_follow(xml));
    let counted = html.repeated;
    for link in &xml.links {
        let about = About {
            rel: link.rel.clone(),
            text: xml.texts[link.text.clone()].to_owned(),
            hreflang: link.hreflang.clone(),
            is_image: link.is_image,
        };
        let before = html.links.len();
        let added = html.add_link(link.kind, &xml.addresses[link.address.clone()], about);
        if let Some(at) = added.filter(|&at| at >= before) {
            html.links[at].position = link.position;
        }
    }
    html.repeated = counted;
    for at in 0..html.links.len() {
        let address = before_fragment(&html.addresses[html.links[at].address.clone()]);
        if closed.contains(address) {
            html.links[at].nofollow = true;
        }
    }
}

/// Lists the addresses that a reading has only under `nofollow`.
fn addresses_without_follow(page: &PageSink<'_>) -> HashSet<String> {
    let mut may_follow: HashMap<&str, bool> = HashMap::new();
    for link in &page.links {
        let address = before_fragment(&page.addresses[link.address.clone()]);
        *may_follow.entry(address).or_default() |= !link.nofollow;
    }
    may_follow.into_iter().filter(|(_, may)| !may).map(|(address, _)| address.to_owned()).collect()
}
