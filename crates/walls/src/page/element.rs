//! The tag that is being read: the attributes that some rule reads.

/// Bytes of an attribute value that are looked at. A marker is within them, however long a value may be.
const VALUE: usize = 2 * 1024;

/// An attribute that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    Id,
    Class,
    Src,
    Href,
    Action,
    Data,
    Content,
    HttpEquiv,
    Type,
    Style,
    Name,
    Value,
    Role,
}

const ATTRIBUTES: [(&[u8], Attribute); 13] = [
    (b"id", Attribute::Id),
    (b"class", Attribute::Class),
    (b"src", Attribute::Src),
    (b"href", Attribute::Href),
    (b"action", Attribute::Action),
    (b"data", Attribute::Data),
    (b"content", Attribute::Content),
    (b"http-equiv", Attribute::HttpEquiv),
    (b"type", Attribute::Type),
    (b"style", Attribute::Style),
    (b"name", Attribute::Name),
    (b"value", Attribute::Value),
    (b"role", Attribute::Role),
];

/// A start tag. Of two attributes with one name the first counts (HTML, 13.2.5.33).
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    values: [Option<String>; 13],
    /// Names of attributes `data-*`, a space before and behind each.
    pub(super) data: String,
    pub(super) is_hidden: bool,
    current: Option<Attribute>,
}

impl Element {
    pub(super) fn open(&mut self, name: &[u8]) {
        self.name.clear();
        self.name.push_str(&String::from_utf8_lossy(&name[..name.len().min(100)]));
        self.values = Default::default();
        self.data.clear();
        self.is_hidden = false;
        self.current = None;
    }

    pub(super) fn attribute(&mut self, name: &[u8]) {
        self.current = None;
        if let Some((_, attribute)) = ATTRIBUTES.iter().find(|(known, _)| *known == name) {
            let value = &mut self.values[*attribute as usize];
            if value.is_none() {
                *value = Some(String::new());
                self.current = Some(*attribute);
            }
        } else if name == b"hidden" {
            self.is_hidden = true;
        } else if name.starts_with(b"data-") && name.len() <= 64 && self.data.len() <= VALUE {
            self.data.push(' ');
            self.data.push_str(&String::from_utf8_lossy(name));
            self.data.push(' ');
        }
    }

    pub(super) fn value(&mut self, value: &[u8]) {
        if let Some(attribute) = self.current.take() {
            self.values[attribute as usize] =
                Some(String::from_utf8_lossy(&value[..value.len().min(VALUE)]).into_owned());
        }
    }

    pub(super) fn get(&self, attribute: Attribute) -> &str {
        self.values[attribute as usize].as_deref().unwrap_or_default()
    }

    pub(super) fn has(&self, attribute: Attribute) -> bool {
        self.values[attribute as usize].is_some()
    }

    /// Whether the element and what it holds is shown.
    pub(super) fn is_shown(&self) -> bool {
        if self.is_hidden {
            return false;
        }
        let style = self.get(Attribute::Style);
        if style.is_empty() {
            return true;
        }
        let style: String =
            style.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
        !style.contains("display:none") && !style.contains("visibility:hidden")
    }
}
