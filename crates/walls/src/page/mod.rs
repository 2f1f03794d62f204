//! What the rules need of a page, from one pass over its tokens. Memory is bounded by the constants below, time by the body's length, and
//! nothing depends on how deep elements are nested.

mod element;
mod quick;
mod reader;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use std::cell::OnceCell;

use html5gum::{Emitter, ForwardingEmitter, Span, Tokenizer};

use self::element::{Attribute, Element};
use self::quick::Content;
use self::reader::DocumentReader;
use crate::target::{self, Parts};
use crate::vendors::{Found, index};
use crate::words;

/// Bytes of a body beyond which a page isn't empty.
const EMPTY_BYTES: usize = 128 * 1024;
/// Characters of text up to which a page is empty.
const EMPTY_TEXT: usize = 3_000;
/// Links to the site up to which a page is empty.
const EMPTY_LINKS: usize = 10;
/// The same of a bare page, and what else it may have.
const BARE_TEXT: usize = 1_000;
const BARE_LINKS: usize = 3;
const BARE_ITEMS: usize = 5;
const BARE_PARAGRAPH: usize = 300;
/// The same of a shell that is certain, and of one that is likely.
const SHELL_TEXT: usize = 64;
const LIKELY_SHELL_TEXT: usize = 200;
const SHELL_NOSCRIPT: usize = 300;
const SHELL_NOSCRIPT_LINKS: usize = 2;
/// Bytes of a body that are looked through.
const SCANNED: usize = 1024 * 1024;
/// Bytes of a title, and of all headings.
const HEADING: usize = 500;
/// Bytes of the text that are kept: more than an empty page has.
const KEPT_TEXT: usize = 4 * EMPTY_TEXT + 4;

/// What the tokens of a page say.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing that a page has or lacks")]
pub(crate) struct Page {
    own_host: String,
    bytes: usize,
    /// The document was read to its end.
    is_whole: bool,
    pub(crate) found: Found,
    pub(crate) title: String,
    /// Texts of h1 and h2, a line each.
    headings: String,
    /// The visible text, white space as one space.
    text: String,
    /// Its characters, counted beyond what is kept.
    pub(crate) characters: usize,
    pub(crate) site_links: usize,
    links: usize,
    list_items: usize,
    block: usize,
    longest_block: usize,
    pub(crate) text_inputs: usize,
    pub(crate) passwords: usize,
    has_control: bool,
    has_playing: bool,
    pub(crate) has_media: bool,
    has_frame: bool,
    has_script: bool,
    has_mount: bool,
    has_other_element: bool,
    pub(crate) widget: bool,
    /// A path, class or element with a name that only counts beside words.
    pub(crate) challenge_name: bool,
    pub(crate) has_accept: bool,
    noscript: String,
    noscript_characters: usize,
    noscript_links: usize,
    /// Targets of refreshes, the first ones.
    pub(crate) refreshes: Vec<String>,
    element: Element,
    state: State,
    lower: OnceCell<String>,
}

/// Where in a document the tokens are.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing that is open or not")]
struct State {
    /// The element whose text isn't visible text: `script`, `title` and others, which hold no elements.
    raw: Raw,
    /// The text of a script that is being read.
    hidden: Option<Hidden>,
    heading: bool,
    button: bool,
    in_noscript: bool,
    /// The text so far ends with a space, or a block has begun.
    spaced: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Raw {
    #[default]
    No,
    Title,
    Script,
    Noscript,
    Other,
}

/// A hidden element that is open.
#[derive(Debug)]
struct Hidden {
    name: String,
    depth: usize,
}

/// The tokens so far decide.
struct Settled;

/// An emitter without errors: they aren't used, and looking for them takes a third of the time.
struct NoErrors<E>(E);

impl<E: Emitter> ForwardingEmitter for NoErrors<E> {
    type Token = E::Token;

    fn inner(&mut self) -> &mut impl Emitter<Token = E::Token> {
        &mut self.0
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }
}

impl Page {
    /// The page of a host. `is_ordinary`: its status and header fields say nothing.
    pub(crate) fn read(body: &[u8], is_whole: bool, is_ordinary: bool, own_host: &str) -> Self {
        let scanned = &body[..body.len().min(SCANNED)];
        let mut page = Self {
            own_host: own_host.to_owned(),
            bytes: body.len(),
            is_whole: is_whole && scanned.len() == body.len(),
            ..Self::default()
        };
        // Only such signals count on a page that isn't empty.
        let needs_all = index().anywhere.iter().any(|needle| needle.find(scanned).is_some());
        if !needs_all {
            let is_settled = match quick::look(scanned, own_host) {
                Content::Much => true,
                // What isn't bare and has none of these names is no wall.
                Content::Some => is_ordinary && !index().names_any(scanned),
                Content::Unknown => false,
            };
            if is_settled {
                page.characters = EMPTY_TEXT + 1;
                page.has_media = true;
                return page;
            }
        }
        page.tokens(scanned, needs_all);
        page.end_block();
        page
    }

    /// A text that isn't marked up.
    pub(crate) fn of_text(body: &[u8]) -> Self {
        let mut page = Self { bytes: body.len(), is_whole: true, ..Self::default() };
        page.visible(&String::from_utf8_lossy(&body[..body.len().min(KEPT_TEXT)]));
        if body.len() > KEPT_TEXT {
            page.characters = page.characters.max(EMPTY_TEXT + 1);
        }
        page.end_block();
        page
    }

    fn tokens(&mut self, html: &[u8], needs_all: bool) {
        let mut noscript = Vec::new();
        let in_noscript = self.state.in_noscript;
        {
            let page = &mut *self;
            let noscript = &mut noscript;
            let mut emitter = CallbackEmitter::new(move |event: CallbackEvent<'_>, _: Span<()>| {
                page.event(&event, noscript, needs_all)
            });
            emitter.naively_switch_states(true);
            let mut tokenizer = Tokenizer::new_with_emitter(DocumentReader::new(html), NoErrors(emitter));
            loop {
                match tokenizer.next() {
                    Some(Ok(Settled)) | None => break,
                    Some(Err(_call_again)) => {}
                }
            }
        }
        // Markup that only clients without scripts read. None of it holds another one.
        if !in_noscript && !noscript.is_empty() {
            self.state = State { in_noscript: true, ..State::default() };
            self.tokens(&noscript, true);
        }
    }

    fn event(
        &mut self,
        event: &CallbackEvent<'_>,
        noscript: &mut Vec<u8>,
        needs_all: bool,
    ) -> Option<Settled> {
        match *event {
            CallbackEvent::OpenStartTag { name } => self.element.open(name),
            CallbackEvent::AttributeName { name } => self.element.attribute(name),
            CallbackEvent::AttributeValue { value } => self.element.value(value),
            CallbackEvent::CloseStartTag { .. } => {
                let element = std::mem::take(&mut self.element);
                self.start(&element);
                self.element = element;
                return (!needs_all && self.is_settled()).then_some(Settled);
            }
            CallbackEvent::EndTag { name } => self.end(name),
            CallbackEvent::String { value } => match self.state.raw {
                Raw::No => self.text(&String::from_utf8_lossy(value)),
                Raw::Title => {
                    if self.title.is_empty() && !self.state.in_noscript {
                        push_bounded(&mut self.title, String::from_utf8_lossy(value).trim());
                    }
                }
                Raw::Script => self.found.script(value),
                Raw::Noscript => noscript.extend_from_slice(value),
                Raw::Other => {}
            },
            _ => {}
        }
        None
    }

    fn start(&mut self, element: &Element) {
        let name = element.name.as_str();
        self.state.raw = match name {
            "title" => Raw::Title,
            "script" => Raw::Script,
            "noscript" => Raw::Noscript,
            "style" | "iframe" | "xmp" | "noembed" | "noframes" | "textarea" | "plaintext" => Raw::Other,
            _ => Raw::No,
        };
        let is_visible = self.open_hidden(element);
        if is_block(name) {
            self.end_block();
            self.state.heading = matches!(name, "h1" | "h2");
            if self.state.heading {
                push_bounded(&mut self.headings, "\n");
            }
        }
        self.found.element(name, element.get(Attribute::Id), element.get(Attribute::Class), &element.data);
        self.names(element);
        match name {
            "a" | "area" => self.link(element),
            "script" => self.script(element),
            "link" | "base" => self.reference(element.get(Attribute::Href)),
            "iframe" | "frame" | "frameset" => {
                // What counts visits of browsers without scripts is often a frame or an image.
                self.has_frame |= !self.state.in_noscript;
                self.reference(element.get(Attribute::Src));
            }
            "form" => self.reference(element.get(Attribute::Action)),
            "object" | "embed" | "applet" | "svg" | "canvas" | "img" | "picture" | "audio" | "video" => {
                self.has_media |= !self.state.in_noscript;
                self.has_playing |= matches!(name, "audio" | "video");
                self.reference(element.get(Attribute::Src));
                self.reference(element.get(Attribute::Data));
            }
            "meta" => self.meta(element),
            "input" | "select" | "textarea" | "button" => self.control(element, is_visible),
            "li" | "dt" => self.list_items += 1,
            _ => {}
        }
        if !is_of_head(name) && !self.state.in_noscript {
            self.has_other_element |= !matches!(name, "html" | "head" | "body" | "br");
            self.has_mount |= is_mount(name, element.get(Attribute::Id));
        }
    }

    fn end(&mut self, name: &[u8]) {
        self.state.raw = Raw::No;
        if let Some(hidden) = &mut self.state.hidden
            && hidden.name.as_bytes() == name
        {
            hidden.depth -= 1;
            if hidden.depth == 0 {
                self.state.hidden = None;
            }
        }
        let name = std::str::from_utf8(name).unwrap_or_default();
        if name == "button" {
            self.state.button = false;
        }
        if is_block(name) {
            self.end_block();
        }
    }

    /// Notes that a hidden element begins, and tells whether what follows is shown.
    fn open_hidden(&mut self, element: &Element) -> bool {
        // What a browser closes before a block can't hide what comes behind.
        if is_block(&element.name)
            && self.state.hidden.as_ref().is_some_and(|hidden| is_closed_by_others(&hidden.name))
        {
            self.state.hidden = None;
        }
        if let Some(hidden) = &mut self.state.hidden {
            if hidden.name == element.name {
                hidden.depth += 1;
            }
            return false;
        }
        let is_shown = element.is_shown();
        let is_template = element.name == "template";
        let is_whole = matches!(element.name.as_str(), "html" | "body");
        if (!is_shown || is_template) && !is_void(&element.name) && !is_whole {
            self.state.hidden = Some(Hidden { name: element.name.clone(), depth: 1 });
        }
        is_shown
    }

    fn text(&mut self, text: &str) {
        if self.state.in_noscript {
            push_bounded(&mut self.noscript, text);
            self.noscript_characters +=
                text.split_whitespace().map(|word| word.chars().count() + 1).sum::<usize>();
            return;
        }
        if self.state.hidden.is_some() {
            return;
        }
        if self.state.heading {
            push_bounded(&mut self.headings, text);
        }
        if self.state.button {
            self.has_accept |= words::accepts(text);
        }
        self.visible(text);
    }

    fn visible(&mut self, text: &str) {
        let starts_spaced = text.starts_with(char::is_whitespace);
        let mut words = text.split_whitespace().peekable();
        if words.peek().is_none() {
            self.state.spaced |= starts_spaced;
            return;
        }
        let mut is_first = true;
        for word in words {
            let is_apart = !is_first || starts_spaced || self.state.spaced;
            if is_apart && self.characters > 0 {
                self.add(" ");
            }
            is_first = false;
            self.state.spaced = false;
            self.add(word);
        }
        self.state.spaced = text.ends_with(char::is_whitespace);
    }

    fn add(&mut self, piece: &str) {
        let count = piece.chars().count();
        self.characters += count;
        self.block += count;
        if self.text.len() + piece.len() <= KEPT_TEXT {
            self.text.push_str(piece);
        }
    }

    fn end_block(&mut self) {
        self.longest_block = self.longest_block.max(self.block);
        self.block = 0;
        self.state.spaced = true;
        self.state.heading = false;
    }

    fn link(&mut self, element: &Element) {
        let href = element.get(Attribute::Href).trim();
        if element.get(Attribute::Role).eq_ignore_ascii_case("button") {
            self.state.button = true;
        }
        if href.is_empty() || href.starts_with('#') {
            return;
        }
        let Some(parts) = target::split(href) else { return };
        self.found.link(&parts);
        if self.state.in_noscript {
            self.noscript_links += 1;
            return;
        }
        self.links += 1;
        self.site_links += usize::from(self.is_own(&parts));
    }

    fn script(&mut self, element: &Element) {
        let kind = element.get(Attribute::Type).to_ascii_lowercase();
        let runs = kind.is_empty() || kind.contains("script") || kind == "module";
        self.has_script |= runs && !self.state.in_noscript;
        let src = element.get(Attribute::Src);
        self.reference(src);
        let path = target::split(src).map_or("", |parts| parts.path);
        self.has_mount |= path.ends_with("flutter_bootstrap.js") || path.contains("_framework/blazor");
    }

    fn meta(&mut self, element: &Element) {
        if element.get(Attribute::HttpEquiv).trim().eq_ignore_ascii_case("refresh") {
            self.refresh(element.get(Attribute::Content));
        }
    }

    /// Notes a refresh: `5; url=/x`.
    pub(crate) fn refresh(&mut self, content: &str) {
        let target = refresh_target(content);
        self.reference(target);
        if self.refreshes.len() < 4 {
            self.refreshes.push(target.to_owned());
        }
    }

    fn control(&mut self, element: &Element, is_visible: bool) {
        let kind = element.get(Attribute::Type).to_ascii_lowercase();
        if element.name == "button" {
            self.state.button = true;
        }
        let is_hidden_input = element.name == "input" && kind == "hidden";
        if is_hidden_input || !is_visible || self.state.in_noscript {
            return;
        }
        self.has_control = true;
        match (element.name.as_str(), kind.as_str()) {
            ("input", "submit" | "button" | "image") => {
                self.has_accept |= words::accepts(element.get(Attribute::Value));
            }
            ("input", "checkbox" | "radio" | "reset" | "range" | "color" | "file")
            | ("select" | "button", _) => {}
            ("input", "password") => {
                self.passwords += 1;
                self.text_inputs += 1;
            }
            _ => self.text_inputs += 1,
        }
    }

    /// Names of captchas and proofs of work, on scripts, frames, images, elements, classes and ids.
    fn names(&mut self, element: &Element) {
        let mut see = |text: &str| {
            if !text.is_empty() {
                let named = words::named(text);
                self.widget |= named.widget;
                self.challenge_name |= named.challenge;
            }
        };
        if element.name == "a" || element.name == "style" || element.name == "body" || element.name == "html"
        {
            return;
        }
        see(element.get(Attribute::Id));
        see(element.get(Attribute::Class));
        if element.name.contains('-') {
            see(&element.name);
        }
        if matches!(element.name.as_str(), "input" | "button" | "form" | "textarea") {
            see(element.get(Attribute::Name));
        }
        if element.data.contains("pow") || element.data.contains("captcha") {
            see(&element.data);
        }
        for attribute in [Attribute::Src, Attribute::Action] {
            if element.has(attribute)
                && let Some(parts) = target::split(element.get(attribute))
            {
                if words::is_ambient(&parts) {
                    continue;
                }
                see(parts.host.unwrap_or_default());
                see(parts.path);
            }
        }
    }

    fn reference(&mut self, reference: &str) {
        if reference.is_empty() {
            return;
        }
        if let Some(parts) = target::split(reference) {
            let is_own = self.is_own(&parts);
            self.found.reference(&parts, is_own);
        }
    }

    fn is_own(&self, parts: &Parts<'_>) -> bool {
        parts.host.is_none_or(|host| target::is_same_site(host, &self.own_host))
    }

    /// Whether no rule can say anything any more: the page is neither empty nor a shell.
    fn is_settled(&self) -> bool {
        !self.is_empty()
            && (self.characters > LIKELY_SHELL_TEXT || self.links > 0 || self.has_frame || self.has_media)
    }

    /// At most 128 KiB, 3,000 characters of text, 10 links to the site.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes <= EMPTY_BYTES && self.characters <= EMPTY_TEXT && self.site_links <= EMPTY_LINKS
    }

    /// Empty, and hardly more than a message. What a page has of text inputs is for the caller to say.
    fn is_bare_beside_inputs(&self) -> bool {
        self.is_empty()
            && self.characters <= BARE_TEXT
            && self.site_links <= BARE_LINKS
            && self.list_items <= BARE_ITEMS
            && self.longest_block <= BARE_PARAGRAPH
            && !self.has_playing
    }

    pub(crate) fn is_bare(&self) -> bool {
        self.is_bare_beside_inputs() && self.text_inputs == 0
    }

    /// A password and at most one other text input, some text, and nothing else.
    pub(crate) fn is_sign_in(&self) -> bool {
        self.is_bare_beside_inputs() && self.passwords > 0 && self.text_inputs <= 2 && self.characters > 0
    }

    pub(crate) fn has_text(&self) -> bool {
        self.characters > 0
    }

    /// The title and the headings in lower case.
    pub(crate) fn headline(&self) -> String {
        [self.title.as_str(), self.headings.as_str()].join("\n").to_lowercase()
    }

    /// The visible text in lower case.
    pub(crate) fn lower_text(&self) -> &str {
        self.lower.get_or_init(|| self.text.to_lowercase())
    }

    pub(crate) fn links(&self) -> usize {
        self.links
    }

    /// Bytes of the body.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// At most as much text as a shell has, and no link.
    pub(crate) fn says_nothing(&self) -> bool {
        self.characters <= SHELL_TEXT && self.links == 0
    }

    fn shows_nothing_else(&self) -> bool {
        self.is_whole
            && self.links == 0
            && self.has_script
            && !self.has_control
            && !self.has_frame
            && !self.has_media
            && self.refreshes.is_empty()
            && self.noscript_characters <= SHELL_NOSCRIPT
            && self.noscript_links <= SHELL_NOSCRIPT_LINKS
    }

    /// Nothing to read without scripts.
    pub(crate) fn is_shell(&self) -> bool {
        self.shows_nothing_else()
            && self.characters <= SHELL_TEXT
            && (self.has_mount || !self.has_other_element && !self.has_text())
    }

    /// Next to nothing, a mount, and a demand for scripts.
    pub(crate) fn is_likely_shell(&self) -> bool {
        self.shows_nothing_else()
            && self.characters <= LIKELY_SHELL_TEXT
            && self.has_mount
            && self.noscript.to_ascii_lowercase().contains("javascript")
    }
}

fn push_bounded(text: &mut String, more: &str) {
    if text.len() < HEADING {
        let mut end = more.len().min(HEADING);
        while !more.is_char_boundary(end) {
            end -= 1;
        }
        text.push_str(&more[..end]);
    }
}

/// The target of a refresh, as browsers read it (HTML, 4.2.5.3), empty where it is the page itself.
pub(crate) fn refresh_target(content: &str) -> &str {
    let rest = content.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || matches!(c, ';' | ','));
    let url = match rest.get(..3) {
        Some(start) if start.eq_ignore_ascii_case("url") => {
            rest[3..].trim_start().strip_prefix('=').map_or(rest, str::trim_start)
        }
        _ => rest,
    };
    match url.chars().next() {
        Some(quote @ ('"' | '\'')) => url[1..].split(quote).next().unwrap_or_default(),
        _ => url.trim_end(),
    }
}

fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Elements whose end tag may be omitted.
fn is_closed_by_others(name: &str) -> bool {
    matches!(
        name,
        "p" | "li" | "dt" | "dd" | "td" | "th" | "tr" | "option" | "optgroup" | "tbody" | "thead" | "tfoot"
    )
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "center"
            | "dd"
            | "details"
            | "dialog"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hr"
            | "li"
            | "main"
            | "nav"
            | "ol"
            | "p"
            | "pre"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "td"
            | "th"
            | "thead"
            | "tr"
            | "ul"
    )
}

fn is_of_head(name: &str) -> bool {
    matches!(name, "script" | "noscript" | "style" | "link" | "meta" | "title" | "base" | "template")
}

/// Where a script puts its page.
fn is_mount(name: &str, id: &str) -> bool {
    matches!(id, "root" | "app" | "__next" | "__nuxt" | "svelte" | "q-app")
        || id.starts_with("ember")
        || name.contains('-')
            && !matches!(name, "font-face" | "color-profile" | "missing-glyph" | "annotation-xml")
}
