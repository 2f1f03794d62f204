//! The internal subset of a document type declaration: entities and default values of attributes.
//! Nothing external is ever loaded.

use std::collections::HashMap;
use std::rc::Rc;

use memchr::{memchr, memchr2, memmem};

use super::entity::{self, Entity, Meaning};
use super::scan::{is_name_part, is_space, reference};

/// Declarations kept.
const DECLARATIONS: usize = 1_000;
/// Default attributes kept of one element.
const DEFAULTS: usize = 32;
/// Bytes that references to entities may add to the document together.
const EXPANDED_BYTES: usize = 256 * 1024;
/// References within references that are followed.
pub(super) const DEPTH: usize = 16;

/// An entity; none if its text is outside of the document or can't be read.
type Value = Option<Entity>;

/// An attribute with its default value.
type Default = (Box<str>, Rc<str>);

/// Holds the declarations of a document, and how much their use may still cost.
#[derive(Debug)]
pub(super) struct Dtd {
    entities: HashMap<Box<str>, Value>,
    parameters: HashMap<Box<str>, Value>,
    /// The default attributes of each element, by its name as written.
    defaults: HashMap<Box<str>, Vec<Default>>,
    declarations_remaining: usize,
    bytes_remaining: usize,
    is_cut: bool,
}

impl Dtd {
    pub(super) fn new() -> Dtd {
        Dtd {
            entities: HashMap::new(),
            parameters: HashMap::new(),
            defaults: HashMap::new(),
            declarations_remaining: DECLARATIONS,
            bytes_remaining: EXPANDED_BYTES,
            is_cut: false,
        }
    }

    /// Reads a declaration: what is between `<!DOCTYPE` and its `>`. Returns whether all of it could be read.
    pub(super) fn read(&mut self, doctype: &str) -> bool {
        let mut at = 0;
        // Public and system identifiers are in quotes before the internal subset.
        while let Some(found) = doctype[at..].find(['"', '\'', '[']) {
            at += found + 1;
            if doctype[..at].ends_with('[') {
                self.declarations(&doctype[at..], 0);
                break;
            }
            let quote = doctype.as_bytes()[at - 1];
            let Some(end) = memchr(quote, &doctype.as_bytes()[at..]) else { break };
            at += end + 1;
        }
        !self.is_cut
    }

    fn declarations(&mut self, text: &str, depth: usize) {
        let mut rest = text;
        while let Some(at) = memchr2(b'<', b'%', rest.as_bytes()) {
            rest = &rest[at..];
            let end_of =
                |close: &str| memmem::find(rest.as_bytes(), close.as_bytes()).map(|at| at + close.len());
            let end = if let Some(name) = parameter(rest) {
                match self.parameters.get(name).cloned() {
                    Some(Some(value)) if depth < DEPTH && self.spend(value.text.len()) => {
                        self.declarations(&value.text, depth + 1);
                    }
                    Some(Some(_)) => self.is_cut = true,
                    _ => {}
                }
                Some(name.len() + 2)
            } else if rest.starts_with("<!--") {
                end_of("-->")
            } else if rest.starts_with("<?") {
                end_of("?>")
            } else if rest.starts_with("<!") {
                let end = end_of_declaration(rest);
                self.declaration(&rest[..end]);
                Some(end)
            } else {
                Some(1)
            };
            let Some(end) = end else { return };
            rest = &rest[end..];
        }
    }

    fn declaration(&mut self, text: &str) {
        let (is_entity, content) = match (text.strip_prefix("<!ENTITY"), text.strip_prefix("<!ATTLIST")) {
            (Some(content), _) => (true, content),
            (_, Some(content)) => (false, content),
            _ => return,
        };
        if is_entity { self.entity(Words(content)) } else { self.attributes(Words(content)) }
    }

    /// Counts one more declaration; says whether it's kept.
    fn keeps_one(&mut self) -> bool {
        let remaining = self.declarations_remaining.checked_sub(1);
        self.declarations_remaining = remaining.unwrap_or(0);
        self.is_cut |= remaining.is_none();
        remaining.is_some()
    }

    fn entity(&mut self, mut words: Words<'_>) {
        let mut name = words.next();
        let is_parameter = name == Some(Word::Name("%"));
        if is_parameter {
            name = words.next();
        }
        let Some(Word::Name(name)) = name else { return };
        if !self.keeps_one() {
            return;
        }
        let value = match words.next() {
            Some(Word::Quoted(literal)) if !self.names_parameter(literal) => Some(replacement(literal)),
            _ => None,
        };
        let kept = if is_parameter { &mut self.parameters } else { &mut self.entities };
        // The first declaration of a name counts.
        kept.entry(name.into()).or_insert(value);
    }

    /// Returns whether a literal holds references to parameter entities: such are forbidden here.
    fn names_parameter(&self, literal: &str) -> bool {
        let mut rest = literal;
        while let Some(at) = rest.find('%') {
            rest = &rest[at..];
            if parameter(rest).is_some_and(|name| self.parameters.contains_key(name)) {
                return true;
            }
            rest = &rest[1..];
        }
        false
    }

    fn attributes(&mut self, mut words: Words<'_>) {
        let Some(Word::Name(element)) = words.next() else { return };
        while let (Some(Word::Name(attribute)), Some(kind)) = (words.next(), words.next()) {
            if kind == Word::Name("NOTATION") {
                words.next();
            }
            let mut default = words.next();
            if default == Some(Word::Name("#FIXED")) {
                default = words.next();
            }
            if let Some(Word::Quoted(value)) = default
                && self.keeps_one()
            {
                let defaults = self.defaults.entry(element.into()).or_default();
                if defaults.len() < DEFAULTS {
                    defaults.push((attribute.into(), value.into()));
                } else {
                    self.is_cut = true;
                }
            }
        }
    }

    /// Returns a default attribute of an element, by number.
    pub(super) fn default(&self, element: &str, number: usize) -> Option<(&str, Rc<str>)> {
        let (name, value) = self.defaults.get(element)?.get(number)?;
        Some((name, Rc::clone(value)))
    }

    /// Returns what a reference means.
    pub(super) fn meaning(&self, name: &str) -> Meaning {
        match entity::always_known(name) {
            Some(text) => Meaning::Text(text),
            None => match self.entities.get(name) {
                Some(Some(value)) => Meaning::Entity(value.clone()),
                Some(None) => Meaning::Unknown,
                None => entity::of_html(name).map_or(Meaning::Unknown, Meaning::Text),
            },
        }
    }

    /// Pays for the use of an entity; says whether it may be used.
    pub(super) fn spend(&mut self, bytes: usize) -> bool {
        // Not even an empty one is free: references can be nested.
        let remaining = self.bytes_remaining.checked_sub(bytes + 1);
        self.bytes_remaining = remaining.unwrap_or(0);
        remaining.is_some()
    }

    /// Hands the value of an attribute on, its references resolved. Says whether all of them could be; those that
    /// couldn't stay as written.
    pub(super) fn resolve(&mut self, raw: &str, out: &mut dyn FnMut(&str)) -> bool {
        self.resolve_at(raw, 0, out)
    }

    fn resolve_at(&mut self, raw: &str, depth: usize, out: &mut dyn FnMut(&str)) -> bool {
        let mut is_whole = true;
        let mut rest = raw;
        while let Some(at) = memchr(b'&', rest.as_bytes()) {
            out(&rest[..at]);
            rest = &rest[at..];
            let Some(name) = reference(rest) else {
                out("&");
                rest = &rest[1..];
                continue;
            };
            let (written, after) = rest.split_at(name.len() + 2);
            match self.meaning(name) {
                Meaning::Text(text) => out(&text),
                Meaning::Entity(value) if depth < DEPTH && self.spend(value.text.len()) => {
                    is_whole &= self.resolve_at(&value.text, depth + 1, out);
                }
                Meaning::Entity(_) | Meaning::Unknown => {
                    out(written);
                    is_whole = false;
                }
            }
            rest = after;
        }
        out(rest);
        is_whole
    }
}

/// Returns the name of the reference to a parameter entity with which a text begins.
fn parameter(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('%')?;
    let end = rest.bytes().position(|b| !is_name_part(b))?;
    (end > 0 && rest.as_bytes()[end] == b';').then(|| &rest[..end])
}

/// Makes the replacement text of an entity: references to characters are resolved at once, those to entities only where
/// it is used (XML 1.0, 4.5).
fn replacement(literal: &str) -> Entity {
    let mut text = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = memmem::find(rest.as_bytes(), b"&#") {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(name) = reference(rest) else {
            text.push_str("&#");
            rest = &rest[2..];
            continue;
        };
        match entity::always_known(name) {
            Some(character) => text.push_str(&character),
            None => text.push_str(&rest[..name.len() + 2]),
        }
        rest = &rest[name.len() + 2..];
    }
    text.push_str(rest);
    Entity::new(&text)
}

/// Finds the end of a declaration: `>` outside of quotes.
fn end_of_declaration(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr3(b'>', b'"', b'\'', &bytes[at..]) {
        at += found + 1;
        if bytes[at - 1] == b'>' {
            return at;
        }
        let Some(end) = memchr(bytes[at - 1], &bytes[at..]) else { break };
        at += end + 1;
    }
    bytes.len()
}

/// One word of a declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word<'a> {
    Name(&'a str),
    Quoted(&'a str),
    /// Something in parentheses.
    Group,
}

/// Walks the words of a declaration.
#[derive(Debug)]
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let text = self.0.trim_start_matches(is_space);
        let first = *text.as_bytes().first()?;
        let (word, end) = match first {
            b'"' | b'\'' => {
                let end = memchr(first, &text.as_bytes()[1..])?;
                (Word::Quoted(&text[1..=end]), end + 2)
            }
            b'(' => (Word::Group, text.find(')')? + 1),
            b'>' => return None,
            _ => {
                let start = text.chars().next().map_or(0, char::len_utf8);
                let end = text[start..].find([' ', '\t', '\n', '\r', '\x0c', '"', '\'', '(', '>']);
                let end = end.map_or(text.len(), |end| start + end);
                (Word::Name(&text[..end]), end)
            }
        };
        self.0 = &text[end..];
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn resolved(doctype: &str, raw: &str) -> (String, bool) {
        let mut dtd = Dtd::new();
        dtd.read(doctype);
        let mut value = String::new();
        let is_whole = dtd.resolve(raw, &mut |part| value.push_str(part));
        (value, is_whole)
    }

    #[test]
    fn xml_1_0_4_entities() {
        for (doctype, raw, expected) in [
            (" a [<!ENTITY b 'c'>]", "&b;", "c"),
            (" a PUBLIC '-//[' \"[\" [<!ENTITY b 'c'>]", "&b;", "c"),
            (" a [<!ENTITY b \"&c;>\"> <!ENTITY c 'd'>]", "x&b;y", "xd>y"),
            (" a [<!ENTITY b 'c'><!ENTITY b 'd'>]", "&b;", "c"),
            (" a [<!ENTITY lt 'c'>]", "&lt;", "<"),
            (" a [<!ENTITY nbsp 'c'>]", "&nbsp;", "c"),
            (" a [<!ENTITY b '&#38;lt;&#x26;#60;'>]", "&b;", "<<"),
            (" a [<!-- <!ENTITY b 'c'> --><?x <!ENTITY b 'c'>?><!ENTITY b 'd'>]", "&b;", "d"),
            (" a [<!ENTITY % p \"<!ENTITY b 'c'>\"> %p;]", "&b;", "c"),
            ("", "&amp;&eacute;&#65;&#x42;&&#; &x", "&é\u{41}B&&#; &x"),
        ] {
            let (value, is_whole) = resolved(doctype, raw);
            assert_eq!((value.as_str(), is_whole), (expected, !expected.contains("&#;")), "{doctype} {raw}");
        }
    }

    #[test]
    fn unreadable_references_stay_as_written_and_are_reported() {
        for (doctype, raw) in [
            ("", "&b;"),
            (" a [<!ENTITY b SYSTEM 'http://e.example/b'>]", "&b;"),
            (" a [<!ENTITY b SYSTEM 'b'><!ENTITY b 'c'>]", "&b;"),
            (" a [<!ENTITY % p 'c'><!ENTITY b '%p;'>]", "&b;"),
            (" a [<!ENTITY % p SYSTEM 'c'> %p;]", "&b;"),
        ] {
            assert_eq!(resolved(doctype, raw), (raw.to_owned(), false), "{doctype}");
        }
        let (value, is_whole) = resolved(" a [<!ENTITY b '&b;'>]", "&b;");
        assert_eq!((value.as_str(), is_whole), ("&b;", false), "itself");
    }

    #[test]
    fn a_billion_laughs_end_at_the_bound() {
        let mut doctype = String::from(" a [<!ENTITY b0 'ha'><!ENTITY e0 ''>");
        for n in 1..16 {
            let (b, e) = (format!("&b{};", n - 1).repeat(10), format!("&e{};", n - 1).repeat(10));
            write!(doctype, "<!ENTITY b{n} '{b}'><!ENTITY e{n} '{e}'>").unwrap();
        }
        doctype.push(']');
        let (value, is_whole) = resolved(&doctype, "&b15;");
        assert!(!is_whole && value.len() < 2 * EXPANDED_BYTES, "{}", value.len());
        let (value, is_whole) = resolved(&doctype, "&e15;");
        assert!(!is_whole && value.len() < 2 * EXPANDED_BYTES, "{}", value.len());
    }

    #[test]
    fn xml_1_0_3_3_2_default_attributes() {
        let mut dtd = Dtd::new();
        let whole = dtd.read(
            " a [<!ATTLIST b c CDATA 'd' e (f|g) \"f\" h ID #IMPLIED i NOTATION (j) #FIXED 'k'>\
             <!ATTLIST b l NMTOKENS #REQUIRED m CDATA '&n;'><!ATTLIST é ü CDATA 'o'>]",
        );
        let all: Vec<_> = (0..).map_while(|n| dtd.default("b", n)).map(|(a, v)| format!("{a}={v}")).collect();
        assert_eq!((whole, all.join(" ")), (true, "c=d e=f i=k m=&n;".to_owned()));
        assert_eq!(dtd.default("é", 0), Some(("ü", Rc::from("o"))));
    }

    #[test]
    fn too_many_declarations_are_reported() {
        let many = "<!ATTLIST b c CDATA 'd'>".repeat(DECLARATIONS + 1);
        let mut dtd = Dtd::new();
        assert!(!dtd.read(&format!(" a [{many}]")));
        assert!(Dtd::new().read(" a [<!ENTITY"));
    }
}
