//! Escapes `&` and `<` in an XML document where they begin no markup, as in `R&D` and `a < b`, so that such a document can be read on, as
//! browsers read pages. All other text stays as it is.

/// Bytes of a tag of which the end is looked for. What is longer is taken as it comes.
const TAG: usize = 64 << 10;

/// Bytes of the longest reference, `&CounterClockwiseContourIntegral;`.
const REFERENCE: usize = 33;

/// Escapes a document piece by piece.
#[derive(Debug, Default)]
pub(super) struct Escaper {
    within: Within,
    /// What can't be judged before more is read.
    held: String,
}

/// What the next character belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Text,
    /// A comment, a CDATA section or a processing instruction: its end.
    Section(&'static str),
    /// A document type definition, and all behind it: such a document is refused.
    DocType,
}

/// What a `<` begins.
enum Begins {
    /// A tag with its last byte at this place.
    Tag(usize),
    Section(&'static str),
    DocType,
    /// Text, also where it holds an `&` or `<` that begins no markup.
    Text,
    /// More has to be read.
    Unknown,
}

impl Escaper {
    /// Appends the escaped form of the next piece of a document to `escaped`. Time: in the order of the piece, and 64 KiB where that ends in a
    /// tag. Memory: at most 64 KiB are held.
    pub(super) fn push(&mut self, piece: &str, is_last: bool, escaped: &mut String) {
        let mut all = std::mem::take(&mut self.held);
        all.push_str(piece);
        let mut rest = &all[..];
        while !rest.is_empty() {
            let taken = match self.within {
                Within::Section(end) => self.section(rest, end, is_last, escaped),
                Within::DocType => {
                    escaped.push_str(rest);
                    Some(rest.len())
                }
                Within::Text => self.text(rest, is_last, escaped),
            };
            let Some(taken) = taken else { break };
            rest = &rest[taken..];
        }
        self.held.push_str(rest);
    }

    /// Takes what is there of a section; none where more has to be read.
    fn section(&mut self, rest: &str, end: &str, is_last: bool, escaped: &mut String) -> Option<usize> {
        if let Some(at) = memchr::memmem::find(rest.as_bytes(), end.as_bytes()) {
            let taken = at + end.len();
            escaped.push_str(&rest[..taken]);
            self.within = Within::Text;
            return Some(taken);
        }
        // The end may be cut.
        let kept = if is_last { 0 } else { end.len() - 1 };
        let taken = rest.floor_char_boundary(rest.len().saturating_sub(kept));
        escaped.push_str(&rest[..taken]);
        (taken > 0).then_some(taken)
    }

    /// Takes text up to the next markup character, and that with what belongs to it; none where more has to be read.
    fn text(&mut self, rest: &str, is_last: bool, escaped: &mut String) -> Option<usize> {
        match memchr::memchr2(b'<', b'&', rest.as_bytes()) {
            Some(0) => {}
            Some(at) => {
                escaped.push_str(&rest[..at]);
                return Some(at);
            }
            None => {
                escaped.push_str(rest);
                return Some(rest.len());
            }
        }
        if rest.starts_with('&') {
            let is_reference = is_reference(rest.as_bytes()).or(is_last.then_some(false))?;
            escaped.push_str(if is_reference { "&" } else { "&amp;" });
            return Some(1);
        }
        match begins(rest.as_bytes(), is_last) {
            Begins::Unknown => None,
            Begins::Text => {
                escaped.push_str("&lt;");
                Some(1)
            }
            Begins::Section(end) => {
                escaped.push('<');
                self.within = Within::Section(end);
                Some(1)
            }
            Begins::DocType => {
                escaped.push('<');
                self.within = Within::DocType;
                Some(1)
            }
            Begins::Tag(end) => {
                tag(&rest[..=end], escaped);
                Some(end + 1)
            }
        }
    }
}

/// A tag, with the `&` in its attributes escaped.
fn tag(mut tag: &str, escaped: &mut String) {
    while let Some(at) = memchr::memchr(b'&', tag.as_bytes()) {
        escaped.push_str(&tag[..at]);
        escaped.push_str(if is_reference(&tag.as_bytes()[at..]) == Some(true) { "&" } else { "&amp;" });
        tag = &tag[at + 1..];
    }
    escaped.push_str(tag);
}

/// Whether an `&` begins a reference to a character or an entity; none where it is cut.
fn is_reference(text: &[u8]) -> Option<bool> {
    let name = text.iter().skip(1).take(REFERENCE).position(|byte| !is_of_reference(*byte));
    let Some(length) = name else { return (text.len() > REFERENCE).then_some(false) };
    let (name, end) = (&text[1..=length], text[length + 1]);
    let is_named = match name {
        [b'#', b'x', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit),
        [b'#', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        [first, rest @ ..] => first.is_ascii_alphabetic() && !rest.contains(&b'#'),
        [] => false,
    };
    Some(is_named && end == b';')
}

fn is_of_reference(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'#'
}

fn begins(text: &[u8], is_last: bool) -> Begins {
    let cut = if is_last { Begins::Text } else { Begins::Unknown };
    match text {
        [_] | [_, b'/'] => cut,
        [_, b'?', ..] => Begins::Section("?>"),
        [_, b'!', rest @ ..] => {
            let starts = [&b"--"[..], b"[CDATA[", b"DOCTYPE", b"doctype"];
            match starts.iter().position(|start| rest.starts_with(start)) {
                Some(0) => Begins::Section("-->"),
                Some(1) => Begins::Section("]]>"),
                Some(_) => Begins::DocType,
                None if starts.iter().any(|start| start.starts_with(rest)) => cut,
                None => Begins::Text,
            }
        }
        [_, b'/', first, ..] | [_, first, ..] if is_name_start(*first) => end_of_tag(text, is_last),
        _ => Begins::Text,
    }
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':') || !byte.is_ascii()
}

/// Finds the end of a tag. Where another `<` comes before it, outside of an attribute's value, this one begins none.
fn end_of_tag(text: &[u8], is_last: bool) -> Begins {
    let (mut at, mut is_value) = (1, false);
    while let Some(next) =
        text[at..].iter().position(|byte| matches!(byte, b'<' | b'>' | b'=' | b'"' | b'\''))
    {
        at += next;
        match text[at] {
            b'>' => return Begins::Tag(at),
            b'<' => return Begins::Text,
            b'=' => is_value = true,
            quote if is_value && text[..at].trim_ascii_end().ends_with(b"=") => {
                is_value = false;
                match memchr::memchr(quote, &text[at + 1..]) {
                    Some(length) => at += length + 1,
                    None => break,
                }
            }
            _ => {}
        }
        at += 1;
    }
    match (text.len() > TAG, is_last) {
        // It is read as a tag, if it is one.
        (true, _) => Begins::Tag(0),
        (false, true) => Begins::Text,
        (false, false) => Begins::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped(text: &str, sizes: &[usize]) -> String {
        let (mut escaper, mut out, mut rest) = (Escaper::default(), String::new(), text);
        let mut sizes = sizes.iter().cycle();
        while !rest.is_empty() {
            let size = rest.ceil_char_boundary(*sizes.next().unwrap_or(&1));
            escaper.push(&rest[..size], false, &mut out);
            rest = &rest[size..];
        }
        escaper.push("", true, &mut out);
        out
    }

    #[test]
    fn what_is_no_markup_is_escaped_and_the_rest_stays() {
        for (text, expected) in [
            ("<t>R&D, Salt & Pepper&</t>", "<t>R&amp;D, Salt &amp; Pepper&amp;</t>"),
            ("<t>&amp; &eacute; &#38; &#x26;</t>", "<t>&amp; &eacute; &#38; &#x26;</t>"),
            (
                "<t>&; &#; &#x; &#xg; &#1a; &1; &a#b;</t>",
                "<t>&amp;; &amp;#; &amp;#x; &amp;#xg; &amp;#1a; &amp;1; &amp;a#b;</t>",
            ),
            ("<loc>http://a.test/?a=1&copy=2</loc>", "<loc>http://a.test/?a=1&amp;copy=2</loc>"),
            ("<t>a < b <3 <</t>", "<t>a &lt; b &lt;3 &lt;</t>"),
            ("<t>x<y</t>", "<t>x&lt;y</t>"),
            ("<t>if x<y then \"z</t>", "<t>if x&lt;y then \"z</t>"),
            ("<t></ a></t></>", "<t>&lt;/ a></t>&lt;/>"),
            ("<t><!x><!-x></t>", "<t>&lt;!x>&lt;!-x></t>"),
            ("<a href='?a=1&b=2&amp;c<d>'/>", "<a href='?a=1&amp;b=2&amp;c<d>'/>"),
            ("<a b = \"<\" c/><\u{e4}/>", "<a b = \"<\" c/><\u{e4}/>"),
            (
                "<![CDATA[a < b & c]]><!-- a < b & c --><?x a < b & c?>",
                "<![CDATA[a < b & c]]><!-- a < b & c --><?x a < b & c?>",
            ),
            ("<t>a <", "<t>a &lt;"),
            ("<t>a <b", "<t>a &lt;b"),
            ("<t>a &am", "<t>a &amp;am"),
        ] {
            assert_eq!(escaped(text, &[usize::MAX >> 1]), expected, "{text}");
            assert_eq!(escaped(text, &[1]), expected, "{text}, one by one");
        }
    }

    #[test]
    fn no_tag_is_held_without_end() {
        let (mut escaper, mut out) = (Escaper::default(), String::new());
        let start = "<a b=\"";
        escaper.push(start, false, &mut out);
        for _ in 0..100 {
            escaper.push(&"x".repeat(1000), false, &mut out);
            assert!(escaper.held.len() <= TAG + 1000, "{}", escaper.held.len());
        }
        escaper.push("\">", true, &mut out);
        assert_eq!(out, format!("{start}{}\">", "x".repeat(100_000)));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            text in "([<>/!?a\u{e4}&;#x='\" -]|<!\\[CDATA\\[|\\]\\]>|<!--|-->|<b c='&'>){0,60}",
            sizes in prop::collection::vec(1..9_usize, 1..8),
        ) {
            prop_assert_eq!(escaped(&text, &sizes), escaped(&text, &[usize::MAX >> 1]));
        }
    }
}
