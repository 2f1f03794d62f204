//! Who asks: the product token of our User-Agent value.

/// Names the robot that asks, as robots.txt files name it.
///
/// Made once from the whole User-Agent value; `aliases` are older names of the same robot, tried in order where no group
/// names the current one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Agent {
    full: String,
    name: String,
    token: String,
    aliases: Vec<Agent>,
}

impl Agent {
    /// Reads a User-Agent value such as `SuperRobot/1.0 (+https://robots.example/about)`.
    ///
    /// `*` and the empty value give a robot that no line names: it is bound by the `*` group alone.
    pub fn new(user_agent: &str) -> Self {
        let full = user_agent.trim().to_owned();
        let word = full.split_whitespace().next().unwrap_or_default();
        let name = word.split('/').next().unwrap_or_default().to_owned();
        // Two plain words (`Foo Bar`) are no product token: no line can name them (RFC 9309 section 2.2.1).
        let second = full.split_whitespace().nth(1).unwrap_or_default();
        let named = if is_product_token(word) && is_product_token(second) { "" } else { &name };
        let token =
            leading_token(named.as_bytes()).iter().map(|b| char::from(b.to_ascii_lowercase())).collect();
        Self { full, name, token, aliases: Vec::new() }
    }

    /// Adds older names of this robot, tried in the order given where no group names the current one.
    ///
    /// Source: Bing takes exactly one section, in the order bingbot, msnbot, `*`.
    #[must_use]
    pub fn with_aliases<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.aliases = names.into_iter().map(|name| Agent::new(name.as_ref())).collect();
        self
    }

    /// Gives the whole User-Agent value, trimmed.
    pub fn full(&self) -> &str {
        &self.full
    }

    /// Gives the short name: the first word, cut at its first `/`, case kept (the name of the dialects of 1994 and 1996).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the product token: the leading letters, `_` and `-` of the name, in lower case; empty where there are none.
    ///
    /// Source: RFC 9309 section 2.2.1.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Gives the older names, in the order in which they are tried.
    pub fn aliases(&self) -> &[Agent] {
        &self.aliases
    }
}

/// Cuts a value after its leading letters, `_` and `-`.
pub(crate) fn leading_token(value: &[u8]) -> &[u8] {
    let end = value.iter().position(|&b| !is_token_octet(b)).unwrap_or(value.len());
    &value[..end]
}

/// Answers whether a name can be written on a user-agent line as it is: one or more letters, `_` or `-`.
///
/// Source: RFC 9309 section 2.2.1, `identifier`.
pub fn is_product_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_token_octet)
}

fn is_token_octet(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b == b'-'
}
