//! The addresses in style sheets: of other sheets, fonts and images.
//!
//! Source: CSS Syntax Module Level 3 for the tokens, CSS Cascading and Inheritance Level 5 section 2 (`@import`), CSS Fonts Level 4 section
//! 4.3 (`src` of `@font-face`), CSS Images Level 4 section 2 (`url()` and `image-set()`).

use std::collections::HashSet;

use cssparser::{EncodingSupport, ParseError, Parser, Token, stylesheet_encoding};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::attributes::{Attr, Attributes};
use super::limits::LimitHit;
use super::link::{Link, LinkKind};
use super::page::{About, PageSink};
use super::tags::StartTag;
use super::{ExtractInput, mime_type, resolve};

/// Calls `found` with each address of a style sheet, or of the declarations in a `style` attribute, and what it is for. Never fails: what
/// isn't CSS is passed over, as browsers do. What is nested more than 75 blocks
/// deep is read as if it were in the 75th.
pub(super) fn addresses(css: &str, found: &mut dyn FnMut(LinkKind, &str)) {
    read(&mut Parser::new(css), LinkKind::CssImage, false, found);
}

/// Reads a block. `strings` says that a text is an address, as in `image-set()`.
fn read(css: &mut Parser<'_>, kind: LinkKind, strings: bool, found: &mut dyn FnMut(LinkKind, &str)) {
    // What the next block is read as.
    let mut of_block = kind;
    // `@namespace` and `@document` name what isn't fetched.
    let mut is_name = false;
    while let Ok(token) = css.next() {
        match token.clone() {
            Token::AtKeyword(rule) => {
                (of_block, is_name) = (kind, false);
                match &*rule.to_ascii_lowercase() {
                    "import" => import(css, found),
                    "font-face" => of_block = LinkKind::CssFont,
                    "namespace" | "document" | "-moz-document" => is_name = true,
                    _ => {}
                }
            }
            Token::Semicolon => is_name = false,
            Token::CurlyBracketBlock => {
                within(css, |css| read(css, of_block, false, found));
                (of_block, is_name) = (kind, false);
            }
            Token::UnquotedUrl(address) if !is_name => found(kind, &address),
            Token::QuotedString(address) if strings => found(kind, &address),
            Token::Function(name) if !is_name => match &*name.to_ascii_lowercase() {
                "url" | "src" => within(css, |css| {
                    if let Ok(address) = css.expect_string() {
                        found(kind, address);
                    }
                }),
                "image-set" | "-webkit-image-set" => within(css, |css| read(css, kind, true, found)),
                _ => within(css, |css| read(css, kind, false, found)),
            },
            _ => {}
        }
    }
}

/// Reads the address of an `@import`.
fn import(css: &mut Parser<'_>, found: &mut dyn FnMut(LinkKind, &str)) {
    let start = css.state();
    match css.next().cloned() {
        Ok(Token::QuotedString(address) | Token::UnquotedUrl(address)) => {
            found(LinkKind::CssImport, &address);
        }
        Ok(Token::Function(name)) if name.eq_ignore_ascii_case("url") || name.eq_ignore_ascii_case("src") => {
            within(css, |css| {
                if let Ok(address) = css.expect_string() {
                    found(LinkKind::CssImport, address);
                }
            });
        }
        _ => css.reset(&start),
    }
}

/// Reads the block that the last token opened, and goes on behind it.
fn within<'i>(css: &mut Parser<'i>, read: impl FnOnce(&mut Parser<'i>)) {
    // What remains of the block is passed over. A block that is nested too deep isn't entered: its tokens come next.
    let _: Result<(), ParseError<()>> = css.parse_nested_block(|css| {
        read(css);
        Ok(())
    });
}

/// Reads a style sheet: its addresses as links, resolved against its own URL, each once; and the limits that cut something off.
pub fn style_sheet(input: &ExtractInput<'_>) -> (Vec<Link>, Vec<LimitHit>) {
    let mut sheet = PageSink::new(input.limits, false);
    let text = text(input);
    addresses(&text, &mut |kind, address| sheet.add_style_address(kind, address));
    // The query of an address is written in UTF-8, whatever the encoding of the sheet (CSS Values Level 4 section 4.5).
    let mut links = resolve::links(&mut sheet, input.url, UTF_8, input.limits.link_bytes);
    // One URL may be written in several ways.
    let mut seen = HashSet::new();
    links.retain(|link| seen.insert((link.kind, link.target.clone())));
    (links, sheet.limits_hit)
}

impl PageSink<'_> {
    /// Records the addresses of a `style` attribute. Most have none, and aren't read.
    pub(super) fn add_style_of(&mut self, attributes: &Attributes) {
        if let Some(style) = attributes.bytes(Attr::Style)
            && memchr::memchr(b'(', style).is_some()
        {
            self.add_style(&String::from_utf8_lossy(style));
        }
    }

    /// Begins a `<style>` element, where it is wanted.
    pub(super) fn open_style(&mut self, tag: &StartTag<'_>) {
        if self.want_styles && !tag.is_self_closing {
            self.open_style = Some(Vec::new());
        }
    }

    /// Records the addresses of a `<style>` element.
    pub(super) fn add_style(&mut self, css: &str) {
        addresses(css, &mut |kind, address| self.add_style_address(kind, address));
    }

    fn add_style_address(&mut self, kind: LinkKind, address: &str) {
        self.add_link(kind, address, About { is_image: kind == LinkKind::CssImage, ..About::default() });
    }
}

/// Decodes a style sheet. Source: CSS Syntax Module Level 3 section 3.2, with no environment encoding: the page that names the sheet may be
/// any.
fn text<'a>(input: &ExtractInput<'a>) -> std::borrow::Cow<'a, str> {
    let mime = input.content_type.and_then(mime_type::extract);
    let label = mime.as_ref().and_then(|mime| mime.get_parameter("charset"));
    let encoding = stylesheet_encoding::<Known>(input.body, label.map(str::as_bytes), None);
    encoding.decode(input.body).0
}

/// The encodings that are known.
struct Known;

impl EncodingSupport for Known {
    type Encoding = &'static Encoding;

    fn from_label(label: &[u8]) -> Option<Self::Encoding> {
        Encoding::for_label(label)
    }

    fn utf8() -> Self::Encoding {
        UTF_8
    }

    fn is_utf16_be_or_le(encoding: &Self::Encoding) -> bool {
        [UTF_16BE, UTF_16LE].contains(encoding)
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::extract::ExtractLimits;

    fn found(css: &str) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        addresses(css, &mut |kind, address| all.push((kind.name(), address.to_owned())));
        all
    }

    #[test]
    fn each_address_of_a_sheet_is_found_with_what_it_is_for() {
        let cases: [(&str, &[(&str, &str)]); 28] = [
            // CSS Cascading 5, section 2, the examples of @import.
            ("@import \"mystyle.css\";", &[("css_import", "mystyle.css")]),
            ("@import url(\"mystyle.css\");", &[("css_import", "mystyle.css")]),
            ("@import url(fineprint.css) print;", &[("css_import", "fineprint.css")]),
            ("@IMPORT 'bluish.css' projection, tv;", &[("css_import", "bluish.css")]),
            ("@import url('narrow.css') supports(display: flex) screen;", &[("css_import", "narrow.css")]),
            (
                "@import 'a.css' layer(b); @import url( c.css );",
                &[("css_import", "a.css"), ("css_import", "c.css")],
            ),
            ("@import; p { background: url(a.png) }", &[("css_image", "a.png")]),
            // CSS Values 4, section 4.5, the examples of url().
            ("body { background: url(\"pinkish.gif\") }", &[("css_image", "pinkish.gif")]),
            ("li { list-style: url( redball.png ) disc}", &[("css_image", "redball.png")]),
            (
                "a { cursor : url(x.cur) , url('y.cur'), auto }",
                &[("css_image", "x.cur"), ("css_image", "y.cur")],
            ),
            ("a { background: URL(a\\)b.png) }", &[("css_image", "a)b.png")]),
            ("a { background: u\\72l(a.png) }", &[("css_image", "a.png")]),
            ("a { background: src('a.png') }", &[("css_image", "a.png")]),
            ("a { background: url(a b.png), url(c.png) }", &[("css_image", "c.png")]),
            // A string that a line end breaks off begins another one.
            ("a { background: url('a\nb'); } b { background: url(c.png) }", &[]),
            ("/* url(a.png) */ a { content: \"url(b.png)\" }", &[]),
            ("@media print { @supports (x: y) { a { background: url(a.png) } } }", &[("css_image", "a.png")]),
            (
                "a { & b { background: url(nested.png) } --x: url(y.png) }",
                &[("css_image", "nested.png"), ("css_image", "y.png")],
            ),
            // CSS Fonts 4, section 4.3.
            (
                "@font-face { font-family: G; src: local(\"G\"), url(G.woff2) format(\"woff2\") tech(variations), url('G.ttf') }",
                &[("css_font", "G.woff2"), ("css_font", "G.ttf")],
            ),
            (
                "@font-face { src: url(a.woff) } a { background: url(b.png) }",
                &[("css_font", "a.woff"), ("css_image", "b.png")],
            ),
            // CSS Images 4, section 2.4.
            (
                "a { background: image-set(\"a.avif\" type(\"image/avif\"), url(b.png) 2x, linear-gradient(red, blue)) }",
                &[("css_image", "a.avif"), ("css_image", "b.png")],
            ),
            ("a { background: -webkit-image-set(url(a.png) 1x) }", &[("css_image", "a.png")]),
            (
                "a { background: cross-fade(url(a.png), url(b.png), 50%) }",
                &[("css_image", "a.png"), ("css_image", "b.png")],
            ),
            ("a { mask: var(--m, url(m.svg#x)) }", &[("css_image", "m.svg#x")]),
            // Names of what isn't fetched.
            (
                "@namespace svg url(http://www.w3.org/2000/svg); a { background: url(a.png) }",
                &[("css_image", "a.png")],
            ),
            (
                "@-moz-document url(http://a.test/) { a { background: url(a.png) } }",
                &[("css_image", "a.png")],
            ),
            ("a[href='x.png'] { color: red }", &[]),
            ("a { background: url(a.png", &[("css_image", "a.png")]),
        ];
        for (css, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(kind, address)| (*kind, (*address).to_owned())).collect();
            assert_eq!(found(css), expected, "{css}");
        }
    }

    #[test]
    fn the_declarations_of_a_style_attribute_are_read() {
        assert_eq!(
            found("color: red; background-image: url(a.png); filter: url(#blur)"),
            [("css_image", "a.png".to_owned()), ("css_image", "#blur".to_owned())]
        );
    }

    #[test]
    fn blocks_nested_without_end_are_passed_over() {
        for open in ["{", "(", "[", "a(", "url(a", "image-set("] {
            let css = format!("{}a{{background:url(a.png)}}", open.repeat(100_000));
            found(&css);
        }
        let css = format!("{}{} a {{ background: url(a.png) }}", "a(".repeat(200), ")".repeat(200));
        assert_eq!(found(&css), [("css_image", "a.png".to_owned())], "what follows them is read");
    }

    fn links(css: &[u8], content_type: &str) -> Vec<String> {
        let url = Url::parse("http://a.test/css/main.css?v=1").unwrap();
        let limits = ExtractLimits::default();
        let input = ExtractInput {
            body: css,
            content_type: Some(content_type),
            url: &url,
            link_headers: &[],
            limits: &limits,
            want_text: false,
            want_styles: true,
        };
        let (links, _) = style_sheet(&input);
        links.iter().filter_map(|link| Some(link.target.as_ref().ok()?.to_string())).collect()
    }

    #[test]
    fn styles_of_a_page_are_read_where_they_are_wanted() {
        const PAGE: &str = "<html><head><base href='http://b.test/x/'><style>@import 'a.css'; p { background: url(b.png) }</style>
            <title>url(no.png)</title></head><body style='background: url(&quot;c.png&quot;)'><p style='color: red'>url(no.png)
            <svg><rect style='fill: url(#g)'/><style>a{background:url(svg.png)}</style></svg>
            <textarea>url(no.png)</textarea><script>url(no.png)</script><!-- <style>a{background:url(no.png)}</style> -->
            <style>a { background: url(open.png)";
        let url = Url::parse("http://a.test/").unwrap();
        let limits = ExtractLimits::default();
        let read = |want_styles| {
            let input = ExtractInput {
                body: PAGE.as_bytes(),
                content_type: Some("text/html"),
                url: &url,
                link_headers: &[],
                limits: &limits,
                want_text: false,
                want_styles,
            };
            let links = crate::extract::extract(&input).links;
            links
                .into_iter()
                .map(|link| (link.kind.name(), link.target.unwrap().to_string()))
                .collect::<Vec<_>>()
        };
        let expected = [
            ("css_import", "http://b.test/x/a.css"),
            ("css_image", "http://b.test/x/b.png"),
            ("css_image", "http://b.test/x/c.png"),
            ("css_image", "http://b.test/x/svg.png"),
            ("css_image", "http://b.test/x/open.png"),
        ];
        assert_eq!(read(true), expected.map(|(kind, url)| (kind, url.to_owned())));
        assert_eq!(read(false), []);
    }

    #[test]
    fn addresses_of_a_sheet_are_resolved_against_the_sheet() {
        let css = b"a{background:url(../i/a.png)} b{background:url(../i/a.png#f)} c{background:url(data:image/png;base64,AA)}
            d{background:url(//cdn.test/x)} e{background:url(#here)} f{background:url()} @import 'b.css';
            g{background:url(/i/a.png)}";
        assert_eq!(
            links(css, "text/css"),
            ["http://a.test/i/a.png", "http://cdn.test/x", "http://a.test/css/b.css"],
            "each once, and neither data nor a part of the page"
        );
    }

    #[test]
    fn css_syntax_3_2_the_encoding_is_that_of_the_header_then_of_charset() {
        let latin = b"@charset \"windows-1252\"; a{background:url(\xe4.png?\xe4)}";
        let expected = ["http://a.test/css/%C3%A4.png?%C3%A4"];
        assert_eq!(links(latin, "text/css"), expected);
        assert_eq!(links(b"a{background:url(\xe4.png?\xe4)}", "text/css; charset=ISO-8859-1"), expected);
        assert_eq!(
            links(
                &[&[0xEF, 0xBB, 0xBF][..], b"a{background:url(\xc3\xa4.png?\xc3\xa4)}"].concat(),
                "text/css;charset=latin1"
            ),
            expected
        );
    }
}
