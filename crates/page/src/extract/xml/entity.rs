//! References that need no declaration.

use std::rc::Rc;

use html5ever::data::NAMED_ENTITIES;

/// Holds the text of an entity that a document declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entity {
    pub(super) text: Rc<str>,
    /// There are neither tags nor references in it.
    pub(super) is_plain: bool,
}

impl Entity {
    pub(super) fn new(text: &str) -> Entity {
        Entity { text: text.into(), is_plain: !text.contains(['<', '&']) }
    }
}

/// What a reference stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Plain text, whatever it looks like.
    Text(String),
    /// An entity that the document declares.
    Entity(Entity),
    /// Nothing that can be known here.
    Unknown,
}

/// Returns the text of a reference to a character, or to one of the five entities that XML knows (XML 1.0, 4.1 and 4.6).
pub(super) fn always_known(name: &str) -> Option<String> {
    let text = match name {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "quot" => "\"",
        "apos" => "'",
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            let character = code.ok().and_then(char::from_u32).filter(|&c| c != '\0');
            return character.map(String::from);
        }
    };
    Some(text.to_owned())
}

/// Returns the text of an entity of HTML. Browsers know them where a document names a public identifier of XHTML; authors
/// use them without.
pub(super) fn of_html(name: &str) -> Option<String> {
    let &(first, second) = NAMED_ENTITIES.get(&format!("{name};"))?;
    let text: String = [first, second].into_iter().filter(|&c| c != 0).filter_map(char::from_u32).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_without_declaration() {
        for (name, expected) in [
            ("lt", Some("<")),
            ("apos", Some("'")),
            ("#65", Some("A")),
            ("#x1F600", Some("😀")),
            ("#0", None),
            ("#xD800", None),
            ("#", None),
            ("#99999999999", None),
            ("LT", None),
            ("eacute", None),
        ] {
            assert_eq!(always_known(name).as_deref(), expected, "{name}");
        }
        for (name, expected) in [
            ("eacute", Some("é")),
            ("Eacute", Some("É")),
            ("nbsp", Some("\u{a0}")),
            ("noti", None),
            ("", None),
        ] {
            assert_eq!(of_html(name).as_deref(), expected, "{name}");
        }
    }
}
