//! The robot, and how its name is compared with those in robots.txt lines and tags.

use crate::memory;

/// The robot, by the names that robots.txt files, meta tags and headers use for it.
///
/// Made once from the whole User-Agent value; `aliases` are older names of the same robot. In robots.txt they are tried in order
/// where no group names the current one; page directives for any of them apply.
///
/// Names are compared whole and without regard to case, never by substring: `Agent1` and `Agent2` are two robots.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Agent {
    full: String,
    name: String,
    token: String,
    /// The length of the leading letters, `_` and `-` of `token`, where that holds more.
    cut: usize,
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
        let unnamed = name == "*" || is_product_token(word) && is_product_token(second);
        let token: String = if unnamed { String::new() } else { name.chars().map(fold).collect() };
        let leading = leading_token(token.as_bytes()).len();
        let cut = if leading < token.len() { leading } else { 0 };
        Self { full, name, token, cut, aliases: Vec::new() }
    }

    /// Adds older names of this robot, tried in the order given where no group names the current one.
    ///
    /// Source: Bing takes exactly one section, in the order bingbot, msnbot, `*`.
    #[must_use]
    pub fn with_aliases<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.aliases = names.into_iter().map(|name| Agent::new(name.as_ref())).collect();
        self
    }

    /// Returns the whole User-Agent value, trimmed.
    pub fn full(&self) -> &str {
        &self.full
    }

    /// Returns the short name: the first word, cut at its first `/`, case kept (the name of the dialects of 1994 and 1996).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the product token: the whole short name in lower case, digits and dots included; empty where no line can name us.
    ///
    /// RFC 9309 section 2.2.1 knows only letters, `_` and `-`, but robots with other names exist (`MJ12bot`, `360Spider`, `008`).
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the older names, in the order in which they are tried.
    pub fn aliases(&self) -> &[Agent] {
        &self.aliases
    }

    /// Returns whether a page directive for `name` is for us: it is our name or an alias, as a whole.
    pub fn answers_to(&self, name: &str) -> bool {
        let is_ours = |agent: &Agent| same_name(name.as_bytes(), &agent.name);
        !name.is_empty() && (is_ours(self) || self.aliases.iter().any(is_ours))
    }

    /// The bytes that this takes on the heap.
    pub(crate) fn memory(&self) -> usize {
        let texts = [&self.full, &self.name, &self.token].map(|text| memory::block(text.capacity()));
        texts.into_iter().sum::<usize>()
            + memory::list::<Agent>(self.aliases.capacity())
            + self.aliases.iter().map(Agent::memory).sum::<usize>()
    }

    /// Returns the leading letters, `_` and `-` of the token where it holds other characters too; else nothing.
    ///
    /// Some parsers cut names this way; a group that only this part would select can only restrict us (H8).
    pub(crate) fn cut_token(&self) -> &str {
        &self.token[..self.cut]
    }
}

/// Returns whether two names are the same, without regard to case: by Unicode simple case folding where the line is UTF-8, else by
/// ASCII case.
pub(crate) fn same_name(line: &[u8], ours: &str) -> bool {
    line.eq_ignore_ascii_case(ours.as_bytes())
        || !(line.is_ascii() && ours.is_ascii())
            && std::str::from_utf8(line).is_ok_and(|line| line.chars().map(fold).eq(ours.chars().map(fold)))
}

/// Returns whether a name that isn't UTF-8 is our name in Latin-1.
pub(crate) fn same_name_in_latin1(line: &[u8], ours: &str) -> bool {
    std::str::from_utf8(line).is_err() && line.iter().map(|&b| fold(char::from(b))).eq(ours.chars().map(fold))
}

/// Folds the case of one character (Unicode `CaseFolding.txt`, statuses C and S).
///
/// The standard library has no table of foldings: lower case of the upper case gives them, where each is one character. The dotless
/// `ı` is the one letter whose folding isn't found so: it has none.
fn fold(c: char) -> char {
    fn one(mut chars: impl Iterator<Item = char>) -> Option<char> {
        chars.next().filter(|_| chars.next().is_none())
    }
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    if c == 'ı' {
        return c;
    }
    let upper = one(c.to_uppercase()).unwrap_or(c);
    one(upper.to_lowercase()).unwrap_or(c)
}

/// Cuts a value after its leading letters, `_` and `-`.
pub(crate) fn leading_token(value: &[u8]) -> &[u8] {
    let end = value.iter().position(|&b| !is_token_byte(b)).unwrap_or(value.len());
    &value[..end]
}

/// Returns whether a name can be written on a user-agent line as it is: one or more letters, `_` or `-`.
///
/// Source: RFC 9309 section 2.2.1, `identifier`.
pub fn is_product_token(name: &str) -> bool {
    is_token(name.as_bytes())
}

/// As [`is_product_token`], of bytes.
pub(crate) fn is_token(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|&b| is_token_byte(b))
}

fn is_token_byte(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_latin1_is_ours_letter_by_letter() {
        assert!(same_name_in_latin1(b"R\xd6BOT", "r\u{f6}bot"));
        assert!(!same_name_in_latin1(b"R\xd6BIT", "r\u{f6}bot"));
        assert!(!same_name_in_latin1("r\u{f6}bot".as_bytes(), "r\u{f6}bot"), "this is UTF-8");
        assert!(!same_name_in_latin1(b"robot", "robot"), "and so is this");
    }

    #[test]
    fn the_token_is_the_whole_name_without_version() {
        let rows = [
            ("SuperRobot/1.0 (+https://a.example)", "superrobot", ""),
            ("My2Bot/1.0", "my2bot", "my"),
            ("bot2.0/1.5", "bot2.0", "bot"),
            ("MJ12bot", "mj12bot", "mj"),
            ("360Spider", "360spider", ""),
            ("008/0.83", "008", ""),
            ("RÖBOT/1", "röbot", "r"),
            ("*", "", ""),
            ("", "", ""),
            ("Foo Bar", "", ""),
        ];
        for (user_agent, token, cut) in rows {
            let agent = Agent::new(user_agent);
            assert_eq!((agent.token(), agent.cut_token()), (token, cut), "{user_agent}");
        }
    }

    #[test]
    fn page_directives_name_us_whole_and_without_case() {
        let agent = Agent::new("My2Bot/1.0 (+http://s.example)").with_aliases(["Googlebot/2.1", ""]);
        for ours in ["MY2BOT", "my2bot", "googlebot"] {
            assert!(agent.answers_to(ours), "{ours}");
        }
        for other in ["", "my", "my2", "my2bots", "googlebot-news", "googlebot news", "*"] {
            assert!(!agent.answers_to(other), "{other}");
        }
        assert!(!Agent::new("").with_aliases([""]).answers_to(""));
    }

    /// Rows of Unicode `CaseFolding.txt`, statuses C and S, and letters that have none.
    #[test]
    fn case_is_folded_as_unicode_does() {
        for (a, b) in
            [("ÖÉ", "öé"), ("БОТ", "бот"), ("ΣΑΣ", "σας"), ("K", "k"), ("ſ", "S"), ("ẞ", "ß"), ("ǅ", "ǆ")]
        {
            assert!(same_name(a.as_bytes(), b) && same_name(b.as_bytes(), a), "{a} {b}");
        }
        for (a, b) in [("ı", "i"), ("İ", "i"), ("ß", "ss"), ("Ｓ", "S"), ("é", "e")] {
            assert!(!same_name(a.as_bytes(), b), "{a} {b}");
        }
        assert!(same_name_in_latin1(b"R\xd6bot", "röbot") && !same_name(b"R\xd6bot", "röbot"));
        assert!(!same_name_in_latin1("röbot".as_bytes(), "röbot"));
    }
}
