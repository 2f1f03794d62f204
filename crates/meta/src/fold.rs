//! Text folded to plain words: what an author meant by letters that only look like ASCII, escapes that weren't decoded,
//! and characters that can't be seen.

/// Longest word that is kept, in bytes; no term is longer.
const LONGEST: usize = 32;

/// A run of letters or of digits in a folded text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    letters: [u8; LONGEST],
    length: usize,
    /// Where the word ends in the text as written.
    pub(crate) end: usize,
    before: Gap,
}

impl Word {
    /// Returns the word in lower-case ASCII; nothing for one that is too long for a term.
    pub(crate) fn text(&self) -> &str {
        self.letters
            .get(..self.length)
            .and_then(|letters| std::str::from_utf8(letters).ok())
            .unwrap_or_default()
    }

    /// Returns the word, and behind a backslash the word without its first letter: that may belong to an escape (`\n`).
    pub(crate) fn readings(&self) -> impl Iterator<Item = &str> {
        let escaped = (self.before.last == b'\\').then(|| self.text().get(1..)).flatten();
        std::iter::once(self.text()).chain(escaped)
    }

    /// Returns whether it follows the previous word as its value: after `:` or `=`, with a few quote marks or blanks.
    pub(crate) fn is_value(&self) -> bool {
        const NEAR: usize = 6;
        self.before.has_opener && !self.before.has_separator && self.before.length <= NEAR
    }

    /// Returns whether no comma, semicolon or long gap is between the previous word and this one.
    pub(crate) fn is_near(&self) -> bool {
        /// Characters that may be within a term.
        const NEAR: usize = 3;
        !self.before.has_separator && self.before.length <= NEAR
    }

    /// Returns whether a hyphen or underscore alone is between the previous word and this one.
    pub(crate) fn is_hyphenated(&self) -> bool {
        self.before.length == 1 && matches!(self.before.last, b'-' | b'_')
    }

    /// Returns whether a minus sign is directly before it.
    pub(crate) fn is_negative(&self) -> bool {
        self.before.last == b'-'
    }

    /// Returns whether it is a number.
    pub(crate) fn is_number(&self) -> bool {
        self.letters[0].is_ascii_digit()
    }

    fn push(&mut self, letter: u8) {
        if let Some(place) = self.letters.get_mut(self.length) {
            *place = letter;
        }
        self.length = (self.length + 1).min(LONGEST + 1);
    }
}

/// What a character counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Glyph {
    /// A letter in lower case, or a digit.
    Plain(u8),
    /// What is between words.
    Mark(u8),
    /// Invisible, and without a meaning.
    Nothing,
    /// Looks like this letter, but is another character.
    Like(u8),
    /// Invisible or undecodable: either a separator of words, or damage within one.
    Spoilt,
}

/// Splits a text into words of ASCII letters and numbers, each bounded by anything else.
///
/// Full-width, mathematical and circled letters count as the letters that they show; soft hyphens and zero-width
/// characters count for nothing; escapes of HTML (`&nbsp;`, `&#44;`), URLs (`%2C`) and JSON (`\u002c`) count as the
/// character that they name. Characters that can be read in two ways - letters of other alphabets that look like ASCII,
/// control characters - are read in one of them, `loose` or not.
pub(crate) fn words(text: &str, loose: bool) -> Vec<Word> {
    let mut words = Vec::new();
    let mut reader = Reader { loose, word: None, gap: Gap::default() };
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (glyph, length) = escape(rest).unwrap_or((glyph(c), c.len_utf8()));
        let end = text.len() - rest.len() + length;
        rest = &rest[length..];
        words.extend(reader.take(glyph, end));
    }
    words.extend(reader.word.take());
    words
}

/// Returns whether a text holds a character that [`words`] reads in two ways.
pub(crate) fn is_ambiguous(text: &str) -> bool {
    // An escape may name such a character.
    text.contains(|c: char| {
        matches!(c, '%' | '&' | '\\') || matches!(glyph(c), Glyph::Like(_) | Glyph::Spoilt)
    })
}

struct Reader {
    loose: bool,
    word: Option<Word>,
    gap: Gap,
}

/// What is between two words.
#[derive(Debug, Clone, Copy, Default)]
struct Gap {
    length: usize,
    has_opener: bool,
    has_separator: bool,
    last: u8,
}

impl Reader {
    /// Processes a character; returns the word that it ends.
    fn take(&mut self, glyph: Glyph, end: usize) -> Option<Word> {
        let plain = match glyph {
            Glyph::Plain(letter) => letter,
            Glyph::Like(letter) if self.loose => letter,
            Glyph::Nothing => return None,
            Glyph::Spoilt if self.loose => return None,
            Glyph::Like(_) | Glyph::Spoilt => return self.mark(b' '),
            Glyph::Mark(mark) => return self.mark(mark),
        };
        let is_other_kind = |word: &Word| word.is_number() != plain.is_ascii_digit();
        let ended = if self.word.as_ref().is_some_and(is_other_kind) { self.mark(0) } else { None };
        let gap = self.gap;
        let word = self.word.get_or_insert(Word { letters: [0; LONGEST], length: 0, end: 0, before: gap });
        word.push(plain);
        word.end = end;
        ended
    }

    fn mark(&mut self, mark: u8) -> Option<Word> {
        let ended = self.word.take();
        if ended.is_some() {
            self.gap = Gap::default();
        }
        self.gap.length += usize::from(mark != 0);
        self.gap.has_opener |= matches!(mark, b':' | b'=');
        self.gap.has_separator |= matches!(mark, b',' | b';');
        self.gap.last = mark;
        ended
    }
}

fn glyph(c: char) -> Glyph {
    match c {
        'a'..='z' | '0'..='9' => Glyph::Plain(c as u8),
        'A'..='Z' => Glyph::Plain(c.to_ascii_lowercase() as u8),
        '\t' | '\n' | '\x0c' | '\r' => Glyph::Mark(b' '),
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{fffd}' => Glyph::Spoilt,
        '\x20'..='\x7e' => Glyph::Mark(c as u8),
        // Full-width forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => shifted(c, 0xff01, '!'),
        // Circled letters.
        '\u{24b6}'..='\u{24cf}' => shifted(c, 0x24b6, 'a'),
        '\u{24d0}'..='\u{24e9}' => shifted(c, 0x24d0, 'a'),
        // Mathematical letters and digits: alphabets of 52, numerals of 10.
        '\u{1d400}'..='\u{1d6a3}' if c.is_alphabetic() => {
            Glyph::Plain(b'a' + ((u32::from(c) - 0x1_d400) % 26) as u8)
        }
        '\u{1d7ce}'..='\u{1d7ff}' => Glyph::Plain(b'0' + ((u32::from(c) - 0x1_d7ce) % 10) as u8),
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => Glyph::Mark(b'-'),
        '、' | '\u{ff64}' => Glyph::Mark(b','),
        _ if is_invisible(c) => Glyph::Nothing,
        // Turkish forms of I and i.
        'ı' | 'İ' => Glyph::Plain(b'i'),
        _ => look_alike(c).map_or(Glyph::Mark(b' '), Glyph::Like),
    }
}

/// Reads a character of a block that follows the order of ASCII.
fn shifted(c: char, block: u32, first: char) -> Glyph {
    char::from_u32(u32::from(c) - block + u32::from(first)).map_or(Glyph::Spoilt, glyph)
}

/// Returns whether a character can't be seen: soft hyphen, zero-width and directional characters, variation selectors.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e01ef}'
    )
}

/// Returns the ASCII letter that a Cyrillic or Greek one looks like.
fn look_alike(c: char) -> Option<u8> {
    const ALIKE: &str = "а=a А=a α=a Α=a в=b В=b Β=b с=c С=c ϲ=c ԁ=d е=e Е=e ё=e Ε=e ε=e һ=h Н=h Η=h і=i І=i ї=i ι=i Ι=i \
                         ј=j к=k К=k κ=k Κ=k ӏ=l Ӏ=l м=m М=m Μ=m п=n ո=n η=n Ν=n о=o О=o ο=o Ο=o р=p Р=p ρ=p Ρ=p ѕ=s Ѕ=s \
                         т=t Т=t τ=t Τ=t υ=u ν=v ѵ=v ԝ=w х=x Х=x χ=x Χ=x у=y У=y Υ=y Ζ=z";
    // Only these blocks are looked up.
    if !matches!(c, '\u{370}'..='\u{58f}') {
        return None;
    }
    let pair = ALIKE.split(' ').find(|pair| pair.starts_with(c))?;
    pair.bytes().last()
}

/// Reads an escape that wasn't decoded: its character, and its length.
fn escape(text: &str) -> Option<(Glyph, usize)> {
    match text.bytes().next()? {
        b'&' => entity(text),
        b'%' => {
            let byte = hex(text.get(1..3)?)?;
            Some((if byte < 0x80 { numbered(byte) } else { Glyph::Spoilt }, 3))
        }
        b'\\' => match text.as_bytes().get(1)? {
            b'u' => Some((numbered(hex(text.get(2..6)?)?), 6)),
            b'x' => Some((numbered(hex(text.get(2..4)?)?), 4)),
            _ => None,
        },
        _ => None,
    }
}

/// Reads a character reference: by number, or by one of the names that stand for a blank, a dash or nothing.
fn entity(text: &str) -> Option<(Glyph, usize)> {
    const LONGEST_NAME: usize = 16;
    let name = &text[1..];
    if let Some(number) = name.strip_prefix('#') {
        let digits = number.strip_prefix(['x', 'X']);
        let (number, radix, before) = digits.map_or((number, 10, 2), |digits| (digits, 16, 3));
        let is_digit = |byte: &u8| char::from(*byte).is_digit(radix);
        let length = number.bytes().take(8).take_while(is_digit).count();
        let code = u32::from_str_radix(&number[..length], radix).ok()?;
        let semicolon = usize::from(number[length..].starts_with(';'));
        return Some((numbered(code), before + length + semicolon));
    }
    let length = name.bytes().take(LONGEST_NAME).position(|byte| byte == b';')?;
    let glyph = match name[..length].to_ascii_lowercase().as_str() {
        "shy" | "zwnj" | "zwj" | "zerowidthspace" | "nobreak" | "lrm" | "rlm" => Glyph::Nothing,
        "nbsp" | "ensp" | "emsp" | "thinsp" | "tab" | "newline" => Glyph::Mark(b' '),
        "hyphen" | "dash" | "ndash" | "mdash" | "minus" => Glyph::Mark(b'-'),
        "comma" | "semi" => Glyph::Mark(b','),
        "colon" | "equals" => Glyph::Mark(b':'),
        _ => return None,
    };
    Some((glyph, 1 + length + 1))
}

/// Reads a character that an escape names by its number. A letter may be meant, or the escape may end a word.
fn numbered(code: u32) -> Glyph {
    match char::from_u32(code).map_or(Glyph::Spoilt, glyph) {
        Glyph::Plain(letter) => Glyph::Like(letter),
        other => other,
    }
}

fn hex(digits: &str) -> Option<u32> {
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

/// Returns the names in the value of a tag's `name`, folded: a name is made of letters, digits, `-`, `_` and `.`.
pub(crate) fn names(text: &str) -> Vec<String> {
    let mut folded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (read, length) = escape(rest).unwrap_or((glyph(c), c.len_utf8()));
        rest = &rest[length..];
        match read {
            Glyph::Plain(letter) | Glyph::Like(letter) => folded.push(char::from(letter)),
            Glyph::Mark(mark) if b"-_.".contains(&mark) => folded.push(char::from(mark)),
            Glyph::Mark(_) if c.is_alphanumeric() => folded.extend(c.to_lowercase()),
            Glyph::Mark(_) | Glyph::Spoilt => folded.push(' '),
            Glyph::Nothing => {}
        }
    }
    folded.split(' ').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: HTML, "ASCII whitespace": tab, line feed, form feed, carriage return, space.
    #[test]
    fn blanks_part_words_control_characters_spoil_them_and_letters_of_fonts_are_letters() {
        for blank in ['\t', '\n', '\x0c', '\r', ' '] {
            assert!(matches!(glyph(blank), Glyph::Mark(b' ')), "{blank:?}");
        }
        for spoilt in ['\0', '\x08', '\x0b', '\x0e', '\x1f', '\x7f', '\u{9f}', '\u{fffd}'] {
            assert!(matches!(glyph(spoilt), Glyph::Spoilt), "{spoilt:?}");
        }
        assert!(matches!(glyph('!'), Glyph::Mark(b'!')) && matches!(glyph('~'), Glyph::Mark(b'~')));
        // A capital in a circle, dashes, an ideographic comma.
        assert!(matches!(glyph('\u{24c3}'), Glyph::Plain(b'n')));
        for dash in ['\u{2010}', '\u{2015}', '\u{2212}', '\u{fe58}', '\u{fe63}'] {
            assert!(matches!(glyph(dash), Glyph::Mark(b'-')), "{dash:?}");
        }
        assert!(matches!(glyph('、'), Glyph::Mark(b',')) && matches!(glyph('\u{200b}'), Glyph::Nothing));
        // U+1D7D7, U+1D7D8 and U+1D7FF: 9 in bold, 0 in double-struck, 9 in monospace.
        for (digit, plain) in
            [('\u{1d7ce}', b'0'), ('\u{1d7d7}', b'9'), ('\u{1d7d8}', b'0'), ('\u{1d7ff}', b'9')]
        {
            assert!(matches!(glyph(digit), Glyph::Plain(found) if found == plain), "{digit:?}");
        }
        assert!(
            matches!(glyph('\u{1d41a}'), Glyph::Plain(b'a'))
                && matches!(glyph('\u{24dd}'), Glyph::Plain(b'n'))
        );
        assert!(matches!(glyph('Z'), Glyph::Plain(b'z')) && matches!(glyph('0'), Glyph::Plain(b'0')));
    }

    #[test]
    fn character_references_are_read_by_name_and_by_number() {
        let read = |text: &str| match escape(text) {
            Some((Glyph::Mark(mark), length)) => Some((char::from(mark), length)),
            Some((Glyph::Nothing, length)) => Some(('0', length)),
            Some((Glyph::Like(letter), length)) => Some((char::from(letter), length)),
            _ => None,
        };
        for (text, expected) in [
            ("&hyphen;x", ('-', 8)),
            ("&NDASH;", ('-', 7)),
            ("&minus;", ('-', 7)),
            ("&comma;", (',', 7)),
            ("&semi;", (',', 6)),
            ("&colon;", (':', 7)),
            ("&equals;", (':', 8)),
            ("&nbsp;", (' ', 6)),
            ("&NewLine;", (' ', 9)),
            ("&shy;", ('0', 5)),
            ("&ZeroWidthSpace;", ('0', 16)),
            ("&#110;", ('n', 6)),
            ("&#x6E", ('n', 5)),
            ("%2C", (',', 3)),
            ("\\u002d", ('-', 6)),
            ("\\x6e", ('n', 4)),
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
        }
        for text in ["&", "&;", "&nothing;", "&comma", "&#;", "%2", "%zz", "\\n", "\\u00", "x"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
