//! Links, metas, the title and the base of a page.

use meta::MetaTag;

use super::attributes::{Attr, Attributes};
use super::element::Kind;
use super::fold::Folded;
use super::limits::LimitHit;
use super::link::LinkKind;
use super::page::{About, PageSink};
use super::tags::StartTag;
use super::{refresh, srcset};

/// Bytes of a language tag: longer ones are none.
const LANGUAGE_BYTES: usize = 64;

impl PageSink<'_> {
    pub(super) fn link_of(
        &mut self,
        kind: LinkKind,
        attributes: &Attributes,
        address: Attr,
        text: Attr,
    ) -> Option<usize> {
        let href = attributes.get(address)?;
        let text = attributes.bytes(text).map_or(String::new(), |t| self.fold(t));
        let is_image = kind == LinkKind::Img || address == Attr::Poster || attributes.has(Attr::Srcset);
        let about = About { text, is_image, ..About::of(attributes) };
        self.add_link(kind, &href, about)
    }

    /// Folds the text of a link.
    fn fold(&mut self, text: &[u8]) -> String {
        let mut folded = Folded::new(self.limits.anchor_bytes);
        folded.push(text);
        if folded.was_cut() {
            self.hit(LimitHit::Anchor);
        }
        folded.finish()
    }

    fn note_link(&mut self, kind: LinkKind, attributes: &Attributes, address: Attr, text: Attr) {
        self.link_of(kind, attributes, address, text);
    }

    pub(super) fn open_anchor(&mut self, attributes: &Attributes) {
        self.close_anchor();
        let address = if attributes.has(Attr::Href) { Attr::Href } else { Attr::XlinkHref };
        let link = self.link_of(LinkKind::A, attributes, address, Attr::Alt);
        // The first text of an address counts; often an image precedes it.
        self.open_anchor = link.filter(|&at| self.links[at].text.is_empty());
    }

    fn add_images(&mut self, kind: LinkKind, attributes: &Attributes) {
        self.note_link(kind, attributes, Attr::Src, Attr::Alt);
        self.add_set(kind, attributes, Attr::Srcset);
        self.add_image(kind, attributes, Attr::DataSrc);
        self.add_set(kind, attributes, Attr::DataSrcset);
        if self.open_anchor.is_some()
            && let Some(alt) = attributes.bytes(Attr::Alt)
        {
            self.anchor.part();
            self.anchor.push(alt);
            self.anchor.part();
        }
    }

    /// Takes in the address of an image. What a script has to fill in first is none.
    fn add_image(&mut self, kind: LinkKind, attributes: &Attributes, address: Attr) {
        if let Some(address) = attributes.get(address).filter(|address| !address.contains(['{', '<'])) {
            self.add_link(kind, &address, About { is_image: true, ..About::default() });
        }
    }

    /// Takes in the addresses of a `srcset`, as [`PageSink::add_image`] does.
    fn add_set(&mut self, kind: LinkKind, attributes: &Attributes, set: Attr) {
        if let Some(set) = attributes.get(set).filter(|set| !set.contains(['{', '<'])) {
            for address in srcset::addresses(&set) {
                self.add_link(kind, address, About { is_image: true, ..About::default() });
            }
        }
    }

    fn add_meta(&mut self, tag: &StartTag<'_>) {
        let is_late = tag.position >= self.limits.meta_bytes;
        if is_late || self.metas.len() >= self.limits.metas {
            // Those with a `property` or `itemprop` alone never speak to robots.
            let has = |attr| tag.attributes.has(attr);
            if has(Attr::Content) && (has(Attr::Name) || has(Attr::HttpEquiv)) {
                self.unread.late |= is_late;
                self.unread.surplus |= !is_late;
            }
            self.hit(LimitHit::Metas);
            return;
        }
        let limit = self.limits.meta_value_bytes;
        let mut was_cut = false;
        let mut value = |attr| {
            let value = tag.attributes.get(attr)?;
            was_cut |= value.len() > limit || tag.attributes.was_cut(attr);
            Some(value[..value.floor_char_boundary(limit)].to_owned())
        };
        let is_unread = |attr| tag.attributes.is_unread(attr);
        let name_unread = is_unread(Attr::Name) || is_unread(Attr::HttpEquiv);
        let meta = MetaTag {
            name: value(Attr::Name),
            http_equiv: value(Attr::HttpEquiv),
            property: value(Attr::Property),
            content: value(Attr::Content),
            position: u32::try_from(tag.position).unwrap_or(u32::MAX),
            name_unread,
            content_unread: is_unread(Attr::Content),
        };
        if was_cut {
            self.unread.cut.push(self.metas.len());
            self.hit(LimitHit::MetaValue);
        }
        if meta.http_equiv.as_deref().is_some_and(|h| h.trim().eq_ignore_ascii_case("refresh"))
            && let Some(address) = meta.content.as_deref().and_then(refresh::address)
        {
            self.add_link(LinkKind::Refresh, address, About::default());
        }
        self.metas.push(meta);
    }

    /// Notes that a part of the document couldn't be read: it may say anything to robots.
    pub(super) fn add_unread(&mut self, what: &str, position: usize) {
        if self.metas.len() >= self.limits.metas {
            self.unread.surplus = true;
            self.hit(LimitHit::Metas);
            return;
        }
        let limit = self.limits.meta_value_bytes;
        self.metas.push(MetaTag {
            name: Some("robots".to_owned()),
            content: Some(what[..what.floor_char_boundary(limit)].to_owned()),
            position: u32::try_from(position).unwrap_or(u32::MAX),
            content_unread: true,
            ..MetaTag::default()
        });
    }

    /// Takes a start tag of HTML in.
    pub(super) fn start_of_html(&mut self, tag: &StartTag<'_>) {
        let attributes = tag.attributes;
        match tag.element.kind {
            Kind::A => self.open_anchor(attributes),
            Kind::Link => {
                self.note_link(LinkKind::Link, attributes, Attr::Href, Attr::Title);
                self.add_set(LinkKind::Img, attributes, Attr::ImageSrcset);
            }
            // HTML standard 15.3.2 and 15.3.8: as good as an image in a style.
            Kind::Body | Kind::Table | Kind::TBody | Kind::Tr | Kind::Td => {
                self.add_image(LinkKind::Img, attributes, Attr::Background);
            }
            Kind::Meta => self.add_meta(tag),
            Kind::Img | Kind::Image => self.add_images(LinkKind::Img, attributes),
            Kind::Script => {
                self.note_link(LinkKind::Script, attributes, Attr::Src, Attr::Alt);
                let is_json_ld = attributes
                    .bytes(Attr::Type)
                    .is_some_and(|t| t.trim_ascii().eq_ignore_ascii_case(b"application/ld+json"));
                // What follows an empty element isn't its content, whatever HTML takes it for.
                self.open_json_ld = (is_json_ld && !tag.is_self_closing).then(Vec::new);
            }
            Kind::Style => self.open_style(tag),
            Kind::Title if self.title.is_none() => {
                self.title = Some(Folded::new(self.limits.title_bytes));
                self.in_title = true;
            }
            Kind::Base if self.base.is_none() => {
                if let Some(href) = attributes.get(Attr::Href) {
                    if attributes.was_cut(Attr::Href) || href.len() > self.limits.href_bytes {
                        self.hit(LimitHit::Href);
                    } else {
                        self.base = Some(href.into_owned());
                        if self.may_lead_to_base {
                            self.add_link(LinkKind::A, "", About::default());
                        }
                    }
                }
            }
            Kind::Html if self.language.is_none() => {
                let language = attributes.get(Attr::Lang).or_else(|| attributes.get(Attr::XmlLang));
                self.language = language
                    .map(|l| l.trim().to_owned())
                    .filter(|l| !l.is_empty() && l.len() <= LANGUAGE_BYTES);
            }
            Kind::Area => self.note_link(LinkKind::Area, attributes, Attr::Href, Attr::Alt),
            Kind::Frame => self.note_link(LinkKind::Frame, attributes, Attr::Src, Attr::Title),
            Kind::Iframe => self.note_link(LinkKind::Iframe, attributes, Attr::Src, Attr::Title),
            Kind::Source => self.add_images(LinkKind::Source, attributes),
            Kind::Track => self.note_link(LinkKind::Source, attributes, Attr::Src, Attr::Alt),
            Kind::Audio | Kind::Embed => {
                self.note_link(LinkKind::Media, attributes, Attr::Src, Attr::Title);
            }
            Kind::Video => {
                self.note_link(LinkKind::Media, attributes, Attr::Src, Attr::Alt);
                self.note_link(LinkKind::Media, attributes, Attr::Poster, Attr::Alt);
            }
            Kind::Object => self.note_link(LinkKind::Media, attributes, Attr::Data, Attr::Alt),
            Kind::Form => {
                let is_get = attributes.bytes(Attr::Method).is_none_or(|m| {
                    let m = m.trim_ascii();
                    !m.eq_ignore_ascii_case(b"post") && !m.eq_ignore_ascii_case(b"dialog")
                });
                if is_get {
                    self.note_link(LinkKind::Form, attributes, Attr::Action, Attr::Alt);
                }
            }
            Kind::Input if attributes.bytes(Attr::Type).is_some_and(|t| t.eq_ignore_ascii_case(b"image")) => {
                self.note_link(LinkKind::Img, attributes, Attr::Src, Attr::Alt);
            }
            _ => {}
        }
    }
}

impl About {
    fn of(attributes: &Attributes) -> About {
        let hreflang = attributes.get(Attr::Hreflang).filter(|h| h.len() <= LANGUAGE_BYTES);
        About {
            rel: attributes.get(Attr::Rel).map_or(String::new(), std::borrow::Cow::into_owned),
            text: String::new(),
            hreflang: hreflang.map(std::borrow::Cow::into_owned),
            is_image: false,
        }
    }
}
