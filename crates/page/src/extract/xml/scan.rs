//! Splits XML text into tags, text, references and declarations.
//!
//! Reads on after every error: an XML parser stops at the first one, but the author of a page that isn't well-formed
//! still meant its directives. One pass; no construct is read twice.

use memchr::{memchr, memchr2, memmem};

/// One piece of an XML text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Text(&'a str),
    /// The name between `&` and `;`.
    Reference(&'a str),
    CData(&'a str),
    Comment(&'a str),
    /// What is between `<!DOCTYPE` and its `>`.
    Doctype(&'a str),
    Start(Tag<'a>),
    /// The name in an end tag.
    End(&'a str),
}

/// A start tag as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    pub(super) name: &'a str,
    pub(super) attributes: &'a str,
    pub(super) is_self_closing: bool,
}

/// Walks the tokens of a text.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    token_at: usize,
    /// Ends that don't come any more: looking for them again would make the reading quadratic.
    is_missing: Missing,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is of a construct of its own")]
struct Missing {
    comment: bool,
    cdata: bool,
    instruction: bool,
    doctype: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Scanner<'a> {
        Scanner { text, at: 0, token_at: 0, is_missing: Missing::default() }
    }

    /// Returns the byte offset of the token that was read last.
    pub(super) fn position(&self) -> usize {
        self.token_at
    }

    /// Takes `bytes` of the rest as text: a construct that begins in a way that means nothing.
    fn text_of(&mut self, bytes: usize) -> Token<'a> {
        let start = self.at;
        self.at += bytes;
        Token::Text(&self.text[start..self.at])
    }

    /// Reads a construct between `open`, the scanner's position, and `close`.
    fn enclosed(
        &mut self,
        open: usize,
        close: &str,
        missing: impl Fn(&mut Missing) -> &mut bool,
    ) -> Option<&'a str> {
        let content = &self.text[self.at + open..];
        if *missing(&mut self.is_missing) {
            return None;
        }
        let Some(end) = memmem::find(content.as_bytes(), close.as_bytes()) else {
            *missing(&mut self.is_missing) = true;
            return None;
        };
        self.at += open + end + close.len();
        Some(&content[..end])
    }

    fn markup(&mut self, rest: &'a str) -> Option<Token<'a>> {
        const CDATA: &str = "<![CDATA[";
        const DOCTYPE: &str = "<!DOCTYPE";
        let bytes = rest.as_bytes();
        if rest.starts_with("<!--") {
            let comment = self.enclosed(4, "-->", |m| &mut m.comment);
            return Some(comment.map_or_else(|| self.text_of(4), Token::Comment));
        }
        if rest.starts_with(CDATA) {
            let cdata = self.enclosed(CDATA.len(), "]]>", |m| &mut m.cdata);
            return Some(cdata.map_or_else(|| self.text_of(CDATA.len()), Token::CData));
        }
        if bytes.get(..DOCTYPE.len()).is_some_and(|b| b.eq_ignore_ascii_case(DOCTYPE.as_bytes())) {
            return Some(self.doctype(&rest[DOCTYPE.len()..]));
        }
        match bytes.get(1) {
            Some(b'?') => match self.enclosed(2, "?>", |m| &mut m.instruction) {
                Some(_) => None,
                None => Some(self.text_of(2)),
            },
            Some(b'/') => Some(self.end_tag(rest)),
            Some(&b) if is_name_start(b) => self.start_tag(rest),
            Some(b'!') => Some(self.text_of(2)),
            _ => Some(self.text_of(1)),
        }
    }

    fn doctype(&mut self, content: &'a str) -> Token<'a> {
        let start = self.text.len() - content.len();
        let end = if self.is_missing.doctype { None } else { end_of_doctype(content) };
        let Some(end) = end else {
            self.is_missing.doctype = true;
            return self.text_of(2);
        };
        self.at = start + end + 1;
        Token::Doctype(&content[..end])
    }

    fn end_tag(&mut self, rest: &'a str) -> Token<'a> {
        let end = memchr2(b'>', b'<', &rest.as_bytes()[2..]).map_or(rest.len(), |end| end + 2);
        self.at += end + usize::from(rest[end..].starts_with('>'));
        Token::End(rest[2..end].split(is_space).next().unwrap_or_default())
    }

    /// Reads a start tag; gives nothing where the text ends in it.
    fn start_tag(&mut self, rest: &'a str) -> Option<Token<'a>> {
        let is_end = |b: u8| matches!(b, b'/' | b'>' | b'<') || b.is_ascii_whitespace();
        let name_end = rest[1..].bytes().position(is_end).map_or(rest.len(), |end| end + 1);
        let mut attributes = Attributes::new(&rest[name_end..]);
        while attributes.next().is_some() {}
        let (attributes_end, end) = (name_end + attributes.at, name_end + attributes.at);
        let is_self_closing = rest[end..].starts_with("/>");
        let end = end + usize::from(is_self_closing);
        // A `<` outside of quotes ends a tag, too: what follows may be a directive.
        let width = match rest.as_bytes().get(end) {
            Some(b'>') => 1,
            Some(_) => 0,
            None => {
                self.at = self.text.len();
                return None;
            }
        };
        self.at += end + width;
        let (name, attributes) = (&rest[1..name_end], &rest[name_end..attributes_end]);
        Some(Token::Start(Tag { name, attributes, is_self_closing }))
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        while self.at < self.text.len() {
            self.token_at = self.at;
            let rest = &self.text[self.at..];
            let token = match rest.as_bytes()[0] {
                b'<' => self.markup(rest),
                b'&' => Some(match reference(rest) {
                    Some(name) => {
                        self.at += name.len() + 2;
                        Token::Reference(name)
                    }
                    None => self.text_of(1),
                }),
                _ => {
                    let end = memchr2(b'<', b'&', rest.as_bytes()).unwrap_or(rest.len());
                    Some(self.text_of(end))
                }
            };
            if token.is_some() {
                return token;
            }
        }
        None
    }
}

/// Returns the name of the reference with which a text begins.
pub(super) fn reference(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('&')?;
    let end = rest.bytes().position(|b| !(is_name_part(b) || b == b'#'))?;
    (end > 0 && rest.as_bytes()[end] == b';').then(|| &rest[..end])
}

/// Walks the attributes of a start tag, as written: name and value, references not resolved. What XML forbids but HTML
/// has is read, too: values without quotes, names without values.
#[derive(Debug)]
pub(super) struct Attributes<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Attributes<'a> {
    pub(super) fn new(text: &'a str) -> Attributes<'a> {
        Attributes { text, at: 0 }
    }

    /// Moves on to the first byte that ends what is being read.
    fn take_until(&mut self, is_end: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        self.at += rest.iter().position(|&b| is_end(b)).unwrap_or(rest.len());
        &self.text[start..self.at]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn value(&mut self) -> &'a str {
        let quote = self.peek().filter(|b| matches!(b, b'"' | b'\''));
        if let Some(quote) = quote {
            let content = &self.text[self.at + 1..];
            if let Some(end) = memchr(quote, content.as_bytes()) {
                self.at += end + 2;
                return &content[..end];
            }
            self.at += 1;
        }
        let value = self.take_until(|b| matches!(b, b'>' | b'<') || b.is_ascii_whitespace());
        match value.strip_suffix('/') {
            Some(before) if self.peek() == Some(b'>') => {
                self.at -= 1;
                before
            }
            _ => value,
        }
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    /// Returns the next attribute; then the position is the end of the tag: `/>`, `>`, `<`, or the end of the text.
    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        loop {
            self.take_until(|b| !b.is_ascii_whitespace());
            if self.peek()? != b'/' || self.text[self.at..].starts_with("/>") {
                break;
            }
            self.at += 1;
        }
        if matches!(self.peek()?, b'/' | b'>' | b'<') {
            return None;
        }
        let start = self.at;
        if self.peek() == Some(b'=') {
            self.at += 1;
        }
        self.take_until(|b| matches!(b, b'=' | b'/' | b'>' | b'<') || b.is_ascii_whitespace());
        let name = &self.text[start..self.at];
        let name_end = self.at;
        self.take_until(|b| !b.is_ascii_whitespace());
        if self.peek() != Some(b'=') {
            self.at = name_end;
            return Some((name, ""));
        }
        self.at += 1;
        self.take_until(|b| !b.is_ascii_whitespace());
        Some((name, self.value()))
    }
}

/// Finds the `>` of a document type declaration, of which `content` is what follows `<!DOCTYPE`.
fn end_of_doctype(content: &str) -> Option<usize> {
    let bytes = content.as_bytes();
    let mut at = 0;
    let mut is_in_subset = false;
    let mut is_in_declaration = false;
    loop {
        let found = bytes.get(at)?;
        let is_comment = is_in_subset && !is_in_declaration && content[at..].starts_with("<!--");
        at += match found {
            b'"' | b'\'' if !is_in_subset || is_in_declaration => memchr(*found, &bytes[at + 1..])? + 2,
            b'<' if is_comment => memmem::find(&bytes[at + 4..], b"-->")? + 7,
            b'<' if is_in_subset && content[at..].starts_with("<?") => {
                memmem::find(&bytes[at + 2..], b"?>")? + 4
            }
            b'<' if is_in_subset => {
                is_in_declaration = true;
                1
            }
            b'>' if is_in_declaration => {
                is_in_declaration = false;
                1
            }
            b'>' if !is_in_subset => return Some(at),
            b'[' if !is_in_subset => {
                is_in_subset = true;
                1
            }
            b']' if !is_in_declaration => return memchr(b'>', &bytes[at..]).map(|end| at + end),
            _ => {
                // On to the next byte that means anything; the slice below starts at a character's boundary.
                let rest = &bytes[at + 1..];
                1 + rest.iter().position(|b| b"\"'<>[]".contains(b)).unwrap_or(rest.len())
            }
        };
    }
}

pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

fn is_name_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || matches!(b, b'_' | b':') || b >= 0x80
}

pub(super) fn is_name_part(b: u8) -> bool {
    is_name_start(b) || b.is_ascii_digit() || matches!(b, b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag<'a>(name: &'a str, attributes: &'a str, is_self_closing: bool) -> Token<'a> {
        Token::Start(Tag { name, attributes, is_self_closing })
    }

    #[test]
    fn tokens_of_xml_1_0() {
        let text = "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b \"]>\"> <!-- ]> --> <?c ]>?>]><a:b c='>' \
                    d=\"1\"/>t&amp;<![CDATA[<e>]]></a:b ><!--<f>-->";
        let expected = [
            Token::Doctype(" a [<!ENTITY b \"]>\"> <!-- ]> --> <?c ]>?>]"),
            tag("a:b", " c='>' d=\"1\"", true),
            Token::Text("t"),
            Token::Reference("amp"),
            Token::CData("<e>"),
            Token::End("a:b"),
            Token::Comment("<f>"),
        ];
        assert_eq!(Scanner::new(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn reading_continues_after_errors() {
        for (text, expected) in [
            ("a < b<c>", vec![Token::Text("a "), Token::Text("<"), Token::Text(" b"), tag("c", "", false)]),
            ("<!--<c>", vec![Token::Text("<!--"), tag("c", "", false)]),
            ("<![CDATA[<c>", vec![Token::Text("<![CDATA["), tag("c", "", false)]),
            ("<![if x]><c>", vec![Token::Text("<!"), Token::Text("[if x]>"), tag("c", "", false)]),
            ("<?php <c>", vec![Token::Text("<?"), Token::Text("php "), tag("c", "", false)]),
            ("<!DOCTYPE x [<c>", vec![Token::Text("<!"), Token::Text("DOCTYPE x ["), tag("c", "", false)]),
            ("<a b=' <c>", vec![tag("a", " b=' ", false), tag("c", "", false)]),
            ("<a <c>", vec![tag("a", " ", false), tag("c", "", false)]),
            ("</a <c>", vec![Token::End("a"), tag("c", "", false)]),
            ("&<c>", vec![Token::Text("&"), tag("c", "", false)]),
            ("&a <c>", vec![Token::Text("&"), Token::Text("a "), tag("c", "", false)]),
            ("<c", vec![]),
            ("</", vec![Token::End("")]),
        ] {
            assert_eq!(Scanner::new(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn attributes_as_xml_and_as_html_have_them() {
        for (text, expected) in [
            (" a='1' b = \"2>\"", vec![("a", "1"), ("b", "2>")]),
            (" a=1 b c=/x/y", vec![("a", "1"), ("b", ""), ("c", "/x/y")]),
            (" a=1/>", vec![("a", "1")]),
            ("/a='1'/b='2' />", vec![("a", "1"), ("b", "2")]),
            (" =a=1", vec![("=a", "1")]),
            (" a=>", vec![("a", "")]),
            (" é='ü'", vec![("é", "ü")]),
            (" a='1", vec![("a", "1")]),
        ] {
            assert_eq!(Attributes::new(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
