//! A small HTML reader for the tests alone: metas, links, base and canonical from the tokenizer, scripting off.

use std::cell::RefCell;

use html5ever::TokenizerResult;
use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use meta::{MetaTag, link_rel};
use url::Url;

/// What a page says, for the tests.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) metas: Vec<MetaTag>,
    pub(crate) base: Option<String>,
    pub(crate) canonical: Option<String>,
    /// Targets of `a` elements, with whether they may be queued.
    pub(crate) links: Vec<(String, bool)>,
}

#[derive(Default)]
struct Reader {
    page: RefCell<Page>,
    templates: RefCell<u32>,
}

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let Token::TagToken(tag) = token else { return TokenSinkResult::Continue };
        let is_start = tag.kind == TagKind::StartTag;
        let mut templates = self.templates.borrow_mut();
        match (&*tag.name, is_start) {
            ("template", true) => *templates += 1,
            ("template", false) => *templates = templates.saturating_sub(1),
            (_, true) if *templates == 0 => self.page.borrow_mut().read(&tag),
            _ => {}
        }
        match &*tag.name {
            "title" | "textarea" if is_start => TokenSinkResult::RawData(RawKind::Rcdata),
            "style" | "xmp" | "iframe" | "noembed" | "noframes" if is_start => {
                TokenSinkResult::RawData(RawKind::Rawtext)
            }
            "script" if is_start => TokenSinkResult::RawData(RawKind::ScriptData),
            "plaintext" if is_start => TokenSinkResult::Plaintext,
            _ => TokenSinkResult::Continue,
        }
    }
}

impl Page {
    /// Reads a page.
    pub(crate) fn read_html(html: &str) -> Self {
        let tokenizer = Tokenizer::new(Reader::default(), TokenizerOpts::default());
        let input = BufferQueue::default();
        input.push_back(StrTendril::from(html));
        while let TokenizerResult::Script(()) = tokenizer.feed(&input) {}
        tokenizer.end();
        tokenizer.sink.page.take()
    }

    fn read(&mut self, tag: &Tag) {
        let value =
            |name: &str| tag.attrs.iter().find(|a| &*a.name.local == name).map(|a| a.value.to_string());
        let rel = value("rel").unwrap_or_default();
        match &*tag.name {
            "meta" => self.metas.push(MetaTag {
                name: value("name"),
                http_equiv: value("http-equiv"),
                property: value("property"),
                content: value("content"),
                position: self.metas.len() as u32,
                ..MetaTag::default()
            }),
            "base" if self.base.is_none() => self.base = value("href"),
            "link" if rel.eq_ignore_ascii_case("canonical") => self.canonical = value("href"),
            "a" => self.links.extend(value("href").map(|href| (href, link_rel(&rel).may_queue()))),
            _ => {}
        }
    }

    /// Resolves an address against the page's base.
    pub(crate) fn resolve(&self, url: &Url, address: &str) -> String {
        let base = self.base.as_ref().map_or_else(|| url.clone(), |base| url.join(base).unwrap());
        base.join(address).unwrap().to_string()
    }
}
