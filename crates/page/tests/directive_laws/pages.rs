//! Pages from seeds: type × encoding × markup × directive × place.

use encoding_rs::Encoding;

use crate::{soup, xhtml};

/// A generator of numbers (`SplitMix64`).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// How the text of a page becomes bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// In an encoding of this label; the replacement decoder's are written in ASCII.
    Label(&'static str),
    /// In UTF-16; big endian or not.
    Utf16(bool),
}

/// The encoding of a page, and who names it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    pub(crate) coding: Coding,
    /// It begins with a byte order mark.
    pub(crate) bom: bool,
    /// The label in the Content-Type header.
    pub(crate) header: Option<&'static str>,
    /// The label in a meta element or XML declaration, which is the first part of the page.
    pub(crate) inside: Option<&'static str>,
}

/// What the type says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Html,
    Xml,
    /// Nothing, or something else: the first bytes decide.
    Other,
}

#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) types: Vec<String>,
    pub(crate) kind: Kind,
    pub(crate) encoding: Written,
    pub(crate) parts: Vec<String>,
}

const LABELS: [&str; 15] = [
    "utf-8",
    "utf-8",
    "utf-8",
    "windows-1252",
    "shift_jis",
    "gb18030",
    "big5",
    "euc-kr",
    "euc-jp",
    "iso-2022-jp",
    "koi8-r",
    "iso-2022-kr",
    "hz-gb-2312",
    "iso-2022-cn",
    "x-user-defined",
];

/// Content-Type lines; `CHARSET` stands for a parameter or nothing.
const HTML_TYPES: [&[&str]; 10] = [
    &["text/htmlCHARSET"],
    &["text/htmlCHARSET"],
    &["text/htmlCHARSET"],
    &["TEXT/HTMLCHARSET ; level=1"],
    &["text/html, text/htmlCHARSET"],
    &["text/htmlCHARSET", "text/html"],
    &["text/plain", "text/htmlCHARSET"],
    &["text/htmlCHARSET, */*"],
    &["text/htmlCHARSET;;;"],
    &["text/html;x=\"yCHARSET\""],
];
const XML_TYPES: [&[&str]; 8] = [
    &["application/xhtml+xmlCHARSET"],
    &["application/xhtml+xml; profile=\"x\"CHARSET"],
    &["application/xmlCHARSET"],
    &["text/xmlCHARSET"],
    &["application/rss+xml"],
    &["image/svg+xml"],
    &["application/x-y+xmlCHARSET"],
    &["text/html", "application/xhtml+xmlCHARSET"],
];
const OTHER_TYPES: [&[&str]; 13] = [
    &[],
    &[],
    &[""],
    &["html"],
    &["*/*"],
    &["unknown/unknown"],
    &["application/unknown"],
    &["\"text/html\""],
    &["text/html charset=x"],
    &["text/plain"],
    &["application/json"],
    &["application/octet-stream"],
    &["image/png"],
];

impl Page {
    /// Makes a page; one that `speaks` forbids something, the others allow everything.
    pub(crate) fn of(seed: u64, speaks: bool) -> Page {
        let mut random = Random::new(seed);
        let random = &mut random;
        let coding = match random.below(16) {
            0 => Coding::Utf16(false),
            1 => Coding::Utf16(true),
            _ => Coding::Label(random.of(&LABELS)),
        };
        let label = match coding {
            Coding::Label(label) => label,
            Coding::Utf16(false) => "utf-16le",
            Coding::Utf16(true) => "utf-16be",
        };
        // A label may lie.
        let label = if random.one_in(12) { random.of(&LABELS) } else { label };
        let header = random.one_in(2).then_some(label);
        let inside = random.one_in(3).then_some(label);
        let can_mark = matches!(coding, Coding::Utf16(_) | Coding::Label("utf-8"));
        let encoding = Written { coding, bom: can_mark && random.one_in(3), header, inside };
        let kind = random.of(&[Kind::Html, Kind::Html, Kind::Xml, Kind::Xml, Kind::Other]);
        let lines = match kind {
            Kind::Html => random.of(&HTML_TYPES),
            Kind::Xml => random.of(&XML_TYPES),
            Kind::Other => random.of(&OTHER_TYPES),
        };
        let charset = header.map_or(String::new(), |label| match random.below(3) {
            0 => format!("; charset={label}"),
            1 => format!(";charset=\"{}\"", label.to_ascii_uppercase()),
            _ => format!(" ; x=y; CHARSET={label}; charset=utf-8"),
        });
        let has_place = lines.iter().any(|line| line.contains("CHARSET"));
        let is_quoted = lines.iter().any(|line| line.contains("\"yCHARSET\""));
        let types =
            lines.iter().map(|line| line.replace("\"yCHARSET\"", "y").replace("CHARSET", &charset)).collect();
        let encoding = Written { header: encoding.header.filter(|_| has_place && !is_quoted), ..encoding };
        let is_xhtml = random.one_in(2);
        let mut parts =
            if is_xhtml { xhtml::parts(random, speaks, inside) } else { soup::parts(random, speaks, inside) };
        if speaks && random.one_in(8) && parts.len() > 2 {
            // Not quite what was meant.
            let at = 1 + random.below(parts.len() - 1);
            if random.one_in(2) {
                parts.remove(at);
            } else {
                let other = 1 + random.below(parts.len() - 1);
                parts.swap(at, other);
            }
        }
        Page { types, kind, encoding, parts }
    }

    /// A page in UTF-8 without a word about it.
    pub(crate) fn written(content_type: &str, text: &str) -> Page {
        let encoding = Written { coding: Coding::Label("utf-8"), bom: false, header: None, inside: None };
        let kind = match content_type {
            "text/html" => Kind::Html,
            _ if content_type.ends_with("xml") => Kind::Xml,
            _ => Kind::Other,
        };
        Page { types: vec![content_type.to_owned()], kind, encoding, parts: vec![text.to_owned()] }
    }

    /// What the author wrote.
    pub(crate) fn text(&self) -> String {
        self.parts.concat()
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        let text = self.text();
        let marked = if self.encoding.bom { format!("\u{feff}{text}") } else { text };
        match self.encoding.coding {
            Coding::Utf16(true) => marked.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Coding::Utf16(false) => marked.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Coding::Label(label) => match Encoding::for_label(label.as_bytes()) {
                Some(encoding) if encoding.name() != "replacement" => encoding.encode(&marked).0.into_owned(),
                _ => marked.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }).collect(),
            },
        }
    }
}

/// A statement, in the content of a tag.
pub(crate) fn content(random: &mut Random, speaks: bool) -> &'static str {
    if !speaks {
        return random.of(&["all", "index,follow", "", "max-image-preview:large", "INDEX, FOLLOW, ARCHIVE"]);
    }
    random.of(&[
        "noindex,noarchive,nofollow",
        "noindex, noarchive, nofollow",
        "none,noarchive",
        "NONE, NOARCHIVE",
        "NoFollow , NoIndex , NoCache",
        "noindex nofollow noarchive",
        " none ;nocache ",
        "noindex",
        "index, nofollow, noarchive",
        "noarchive",
    ])
}

/// Whom a tag addresses: attribute and value.
pub(crate) fn addressee(random: &mut Random) -> (&'static str, &'static str) {
    random.of(&[
        ("name", "robots"),
        ("name", "robots"),
        ("name", "robots"),
        ("name", "ROBOTS"),
        ("name", " Robots "),
        ("name", "examplebot"),
        ("name", "ExampleBot"),
        ("http-equiv", "X-Robots-Tag"),
    ])
}

/// Characters that encodings treat each in their own way.
pub(crate) const WORDS: [&str; 8] = ["t", "é", "日本語", "表示能力ソ", "Привет", "한국어", "中文", "漢<字"];
