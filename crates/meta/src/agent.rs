//! The name that directives may address us by.

/// Names the crawler, and the other names whose directives it obeys as its own.
///
/// Names are kept in lower case, without version (`SuperRobot/1.0 (+url)` is `superrobot`), and compared
/// whole, never by substring (section 4.2 of the digest; Google's documentation of robots meta tags).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agent {
    token: String,
    aliases: Vec<String>,
}

impl Agent {
    /// Makes an agent from a User-Agent header or product token and its aliases.
    pub fn new<I>(name: &str, aliases: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let aliases =
            aliases.into_iter().map(|alias| product_token(alias.as_ref())).filter(|alias| !alias.is_empty());
        Self { token: product_token(name), aliases: aliases.collect() }
    }

    /// Gives our product token in lower case.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Tells whether a directive for `name` is for us: our token or an alias, ignoring case.
    pub fn answers_to(&self, name: &str) -> bool {
        let is_ours = |ours: &String| name.eq_ignore_ascii_case(ours);
        !name.is_empty() && (is_ours(&self.token) || self.aliases.iter().any(is_ours))
    }
}

/// Cuts a name at its version and its first blank, and lowers its case.
pub(crate) fn product_token(name: &str) -> String {
    let name = name.split_whitespace().next().unwrap_or_default();
    name.split('/').next().unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_whole_and_without_case() {
        let agent = Agent::new("SuperRobot/1.0 (+http://s.example)", ["Googlebot/2.1"]);
        assert_eq!(agent.token(), "superrobot");
        assert!(agent.answers_to("SUPERROBOT"));
        assert!(agent.answers_to("googlebot"));
        assert!(!agent.answers_to("googlebot-news"));
        assert!(!agent.answers_to("googlebot news"));
        assert!(!agent.answers_to("super"));
        assert!(!agent.answers_to("superrobots"));
        assert!(!Agent::new("", [""]).answers_to(""));
    }
}
