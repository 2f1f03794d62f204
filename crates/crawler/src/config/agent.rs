//! The identity of the robot: product `NAME/VERSION` and contact, validated.

use std::fmt;
use std::str::FromStr;

/// Longest product in bytes.
const MAX_PRODUCT: usize = 128;
/// Longest contact in bytes (a mail path is at most 254: RFC 5321 section 4.5.3.1.3; a URL may be longer).
const MAX_CONTACT: usize = 512;
/// Most contacts: all of them are part of the User-Agent header of every request.
const MAX_CONTACTS: usize = 8;

/// Why a product or a contact was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Nothing was given.
    #[error("the agent is empty: write NAME/VERSION, as in SuperRobot/1.0")]
    Empty,
    /// There is no `/VERSION`.
    #[error("the agent {0:?} has no version: write NAME/VERSION, as in {0}/1.0")]
    NoVersion(String),
    /// There is more than name and version.
    #[error("the agent {0:?} is more than NAME/VERSION, as in SuperRobot/1.0")]
    TooManyParts(String),
    /// The name doesn't begin with a letter: no robots.txt could name us.
    #[error("the agent {0:?} must begin with a letter, otherwise robots.txt can't address it")]
    NoLetter(String),
    /// A character that a product can't have (RFC 9110 section 5.6.2: token).
    #[error("the agent has the character {0:?}: NAME/VERSION may have only letters, digits and - _ .")]
    BadCharacter(char),
    /// Longer than 128 bytes.
    #[error("the agent has {0} bytes; the maximum is {MAX_PRODUCT}")]
    TooLong(usize),
    /// Neither an http(s) URL nor an e-mail address.
    #[error("the contact {0:?} is neither a URL nor an e-mail address: write https://... or name@domain")]
    BadContact(String),
    /// More than 8.
    #[error("{0} contacts were given; the maximum is {MAX_CONTACTS}")]
    TooManyContacts(usize),
}

/// A checked product, `NAME/VERSION`: both are tokens of RFC 9110, the name begins with a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    text: String,
    name_end: usize,
}

impl Product {
    /// Returns the product as it was written, `NAME/VERSION`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the name without the version.
    pub fn name(&self) -> &str {
        &self.text[..self.name_end]
    }

    /// Returns the part of the name that a parser by the grammar of RFC 9309 section 2.2.1 reads: leading letters, `_` and `-`.
    pub fn token(&self) -> &str {
        let name = self.name();
        &name[..name.find(|c| !in_product_token(c)).unwrap_or(name.len())]
    }

    /// Returns what a webmaster could misunderstand about the name; none where it is a product token as a whole.
    pub fn warning(&self) -> Option<String> {
        let (name, token) = (self.name(), self.token());
        (name != token).then(|| {
            format!(
                "a name in robots.txt has only letters, _ and - (RFC 9309 section 2.2.1): this crawler honours groups for {name:?}, but other parsers and checkers read {token:?}, so Disallow lines of groups for that name are honoured too"
            )
        })
    }
}

/// Returns whether a character is allowed in a product token (RFC 9309 section 2.2.1).
fn in_product_token(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '-'
}

/// Returns whether a character is allowed in a token (RFC 9110 section 5.6.2).
fn in_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

impl FromStr for Product {
    type Err = AgentError;

    fn from_str(text: &str) -> Result<Self, AgentError> {
        if text.is_empty() {
            return Err(AgentError::Empty);
        }
        if text.len() > MAX_PRODUCT {
            return Err(AgentError::TooLong(text.len()));
        }
        if let Some(bad) = text.chars().find(|&c| c != '/' && !in_token(c)) {
            return Err(AgentError::BadCharacter(bad));
        }
        let (name, version) = text.split_once('/').ok_or_else(|| AgentError::NoVersion(text.to_owned()))?;
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(AgentError::NoLetter(text.to_owned()));
        }
        if version.is_empty() {
            return Err(AgentError::NoVersion(name.to_owned()));
        }
        if version.contains('/') {
            return Err(AgentError::TooManyParts(text.to_owned()));
        }
        Ok(Self { text: text.to_owned(), name_end: name.len() })
    }
}

/// Where a webmaster finds us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contact {
    /// A page about the crawl, http or https; without userinfo and parentheses, so that it can be part of a header comment.
    Url(url::Url),
    /// An e-mail address; goes into the From header as well.
    Email(String),
}

impl Contact {
    /// Returns the e-mail address, if it is one.
    pub fn email(&self) -> Option<&str> {
        match self {
            Self::Email(address) => Some(address),
            Self::Url(_) => None,
        }
    }

    /// Returns the URL, if it is one.
    pub fn url(&self) -> Option<&url::Url> {
        match self {
            Self::Url(url) => Some(url),
            Self::Email(_) => None,
        }
    }
}

impl fmt::Display for Contact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url.as_str()),
            Self::Email(address) => f.write_str(address),
        }
    }
}

impl FromStr for Contact {
    type Err = AgentError;

    fn from_str(text: &str) -> Result<Self, AgentError> {
        let refuse = || AgentError::BadContact(text.chars().take(80).collect());
        let trimmed = text.trim();
        if trimmed.len() > MAX_CONTACT || trimmed.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(refuse());
        }
        let address = trimmed.strip_prefix("mailto:").unwrap_or(trimmed);
        if is_email(address) {
            return Ok(Self::Email(address.to_owned()));
        }
        // A parenthesis would end the comment of the User-Agent header early.
        let escaped = trimmed.replace('(', "%28").replace(')', "%29");
        let url = url::Url::parse(&escaped).map_err(|_| refuse())?;
        let plain =
            url.username().is_empty() && url.password().is_none() && !url.as_str().contains(['(', ')']);
        if !matches!(url.scheme(), "http" | "https") || !plain {
            return Err(refuse());
        }
        Ok(Self::Url(url))
    }
}

/// Returns whether a text has the form of an address: a dot-atom (RFC 5322 section 3.2.3), `@`, a host name.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else { return false };
    let in_atom = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c);
    let in_label = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let atoms = |text: &str, allowed: &dyn Fn(char) -> bool| {
        text.split('.').all(|part| !part.is_empty() && part.chars().all(allowed))
    };
    atoms(local, &in_atom) && atoms(domain, &in_label) && text.len() <= 254
}

/// Contacts as a list of texts; a text alone is one contact, an empty one is none. For `#[serde(with)]`.
pub(super) mod contacts {
    use std::fmt;

    use serde::de::{Error, SeqAccess, Visitor};
    use serde::{Deserializer, Serializer};

    use super::{AgentError, Contact, MAX_CONTACTS};

    pub(in crate::config) fn serialize<S: Serializer>(value: &[Contact], out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(value.iter().map(Contact::to_string))
    }

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<Vec<Contact>, D::Error> {
        input.deserialize_any(Texts)
    }

    struct Texts;

    impl<'de> Visitor<'de> for Texts {
        type Value = Vec<Contact>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a URL, an e-mail address or a list of them")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            if text.is_empty() {
                return Ok(Vec::new());
            }
            Ok(vec![text.parse().map_err(E::custom)?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<Self::Value, A::Error> {
            let mut contacts = Vec::new();
            while let Some(text) = texts.next_element::<String>()? {
                contacts.push(text.parse().map_err(A::Error::custom)?);
            }
            if contacts.len() > MAX_CONTACTS {
                return Err(A::Error::custom(AgentError::TooManyContacts(contacts.len())));
            }
            Ok(contacts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_a_name_and_a_version() {
        for good in ["SuperRobot/1.0", "a/1", "My-Robot_x/2026.11+git", "Super4Robot/1.0"] {
            assert_eq!(good.parse::<Product>().map(|p| p.as_str().to_owned()), Ok(good.to_owned()));
        }
        for (bad, error) in [
            ("", AgentError::Empty),
            ("SuperRobot", AgentError::NoVersion("SuperRobot".into())),
            ("SuperRobot/", AgentError::NoVersion("SuperRobot".into())),
            ("/1.0", AgentError::NoLetter("/1.0".into())),
            ("*/1.0", AgentError::NoLetter("*/1.0".into())),
            ("4711/1.0", AgentError::NoLetter("4711/1.0".into())),
            ("Super Robot/1.0", AgentError::BadCharacter(' ')),
            ("SuperRobot/1.0\r\nX: y", AgentError::BadCharacter('\r')),
            ("SuperRobot/1.0\n", AgentError::BadCharacter('\n')),
            ("Super\0Robot/1.0", AgentError::BadCharacter('\0')),
            ("Röbot/1.0", AgentError::BadCharacter('ö')),
            ("SuperRobot/1.0 (+x)", AgentError::BadCharacter(' ')),
            ("a/1/2", AgentError::TooManyParts("a/1/2".into())),
        ] {
            assert_eq!(bad.parse::<Product>(), Err(error), "{bad:?}");
        }
        let long = format!("a/{}", "1".repeat(200));
        assert_eq!(long.parse::<Product>(), Err(AgentError::TooLong(202)));
    }

    #[test]
    fn a_name_with_digits_is_taken_with_a_warning() {
        let product: Product = "Super4Robot/1.0".parse().unwrap();
        assert_eq!((product.name(), product.token()), ("Super4Robot", "Super"));
        assert!(product.warning().unwrap().contains("\"Super\""));
        assert_eq!("Super-Robot_x/1.0".parse::<Product>().unwrap().warning(), None);
    }

    #[test]
    fn a_contact_is_a_url_or_an_address() {
        for (text, written, email) in [
            ("https://example.org/robot", "https://example.org/robot", false),
            ("http://example.org", "http://example.org/", false),
            ("https://example.org/a(b)c", "https://example.org/a%28b%29c", false),
            ("ann@example.org", "ann@example.org", true),
            ("mailto:ann.lee+web@example.org", "ann.lee+web@example.org", true),
        ] {
            let contact: Contact = text.parse().unwrap();
            assert_eq!(contact.to_string(), written);
            assert_eq!(matches!(contact, Contact::Email(_)), email, "{text}");
            assert_eq!(written.parse::<Contact>(), Ok(contact));
        }
        let long = format!("https://example.org/{}", "a".repeat(600));
        for bad in [
            "",
            "example.org/robot",
            "ann@",
            "@example.org",
            "ann@exa mple.org",
            "ann@@example.org",
            "ann@example..org",
            "ftp://example.org/",
            "https://",
            "https://user:pw@example.org/",
            "https://example.org/\r\nX: y",
            "javascript:alert(1)",
            &long,
        ] {
            assert!(matches!(bad.parse::<Contact>(), Err(AgentError::BadContact(_))), "{bad:?}");
        }
    }
}
