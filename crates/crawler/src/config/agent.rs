//! The name that we carry: product `NAME/VERSION` and contact, checked.

use std::fmt;
use std::str::FromStr;

/// Why a product or a contact was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Nothing was given.
    #[error("the agent is empty")]
    Empty,
    /// There is no `/VERSION`.
    #[error("the agent {0:?} has no version")]
    NoVersion(String),
    /// A character that a product can't have (RFC 9110 section 5.6.2: token).
    #[error("the agent has the character {0:?}")]
    BadCharacter(char),
    /// Longer than 128 octets.
    #[error("the agent is longer than {0} octets")]
    TooLong(usize),
    /// Neither an http(s) URL nor an e-mail address.
    #[error("the contact {0:?} is neither a URL nor an e-mail address")]
    BadContact(String),
}

/// A checked product, `NAME/VERSION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    text: String,
}

impl Product {
    /// Gives the product as it was written, `NAME/VERSION`.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Product {
    type Err = AgentError;

    fn from_str(text: &str) -> Result<Self, AgentError> {
        if text.is_empty() {
            return Err(AgentError::Empty);
        }
        Ok(Self { text: text.to_owned() })
    }
}

/// Where a webmaster finds us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contact {
    /// A page about the crawl, http or https.
    Url(url::Url),
    /// An e-mail address; goes into the From header as well.
    Email(String),
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
        if let Ok(url) = url::Url::parse(text)
            && matches!(url.scheme(), "http" | "https")
        {
            return Ok(Self::Url(url));
        }
        Ok(Self::Email(text.to_owned()))
    }
}
