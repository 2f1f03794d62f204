//! Whom a user-agent line names, in each dialect.

use crate::agent::{is_product_token, leading_token};
use crate::octets::{is_blank, words};
use crate::{Additions, Agent, AgentRelation, Dialect, Options};

/// Whom one user-agent value names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// Bit 0: our name; bit n: our n-th alias.
    pub(crate) us: u32,
    /// Every robot that no group names.
    pub(crate) star: bool,
    /// The additions without which less would be named.
    pub(crate) by: Additions,
}

/// Reads user-agent values for one robot in one dialect.
#[derive(Debug)]
pub(crate) struct Selector<'a> {
    identities: Vec<&'a Agent>,
    dialect: Dialect,
    additions: Additions,
    relation: AgentRelation,
}

impl<'a> Selector<'a> {
    pub(crate) fn new(agent: &'a Agent, dialect: Dialect, additions: Additions, options: &Options) -> Self {
        // One bit of `Named::us` each.
        let identities = std::iter::once(agent).chain(agent.aliases()).take(32).collect();
        Self { identities, dialect, additions, relation: options.koster1996_relation }
    }

    /// Counts our name and our aliases.
    pub(crate) fn identities(&self) -> u32 {
        self.identities.len() as u32
    }

    pub(crate) fn read(&self, value: &[u8]) -> Named {
        match self.dialect {
            Dialect::Koster1994 => self.koster1994(value),
            Dialect::Koster1996 => self.whole_value(value, self.relation),
            Dialect::Conner1996 => self.whole_value(value, AgentRelation::Book),
            Dialect::Rfc9309 | Dialect::Hardened | Dialect::Strictest => self.rfc9309(value),
        }
    }

    fn us(&self, is_us: impl Fn(&Agent) -> bool) -> u32 {
        self.identities
            .iter()
            .enumerate()
            .filter(|(_, agent)| is_us(agent))
            .fold(0, |bits, (i, _)| bits | 1 << i)
    }

    /// Product token, cut at the first octet that no token holds (Google's form); additions H2 and H3.
    fn rfc9309(&self, value: &[u8]) -> Named {
        let token = leading_token(value);
        let mut named = Named {
            us: self.us(|agent| !token.is_empty() && agent.token().as_bytes().eq_ignore_ascii_case(token)),
            star: value.first() == Some(&b'*') && value.get(1).is_none_or(|&b| is_blank(b)),
            by: Additions::NONE,
        };
        if value.is_empty() && self.additions.contains(Additions::H3) {
            return Named { star: true, by: Additions::H3, ..named };
        }
        // A lone word can only say more than its token where it has other octets.
        if token.len() < value.len() && self.additions.contains(Additions::H2) {
            for word in value.split(|&b| is_blank(b) || b == b',').filter(|word| !word.is_empty()) {
                let word = before_slash(word);
                let us = self.us(|agent| {
                    // A name with digits is no token: compared whole, it can be named all the same.
                    let whole = if is_product_token(agent.name()) { agent.token() } else { agent.name() };
                    !word.is_empty()
                        && (word.eq_ignore_ascii_case(agent.token().as_bytes())
                            || word.eq_ignore_ascii_case(whole.as_bytes()))
                });
                let star = word == b"*";
                if us & !named.us != 0 || star && !named.star {
                    named = Named { us: named.us | us, star: named.star | star, by: Additions::H2 };
                }
            }
        }
        named
    }

    /// Every word of the value, version cut off, that occurs in our name.
    fn koster1994(&self, value: &[u8]) -> Named {
        let mut named = Named { star: value.is_empty(), ..Named::default() };
        for word in words(value) {
            let word = before_slash(word);
            named.star |= word == b"*";
            named.us |= self.us(|agent| word != b"*" && occurs_in(word, agent.name().as_bytes()));
        }
        named
    }

    /// The whole value as one name, version cut off.
    fn whole_value(&self, value: &[u8], relation: AgentRelation) -> Named {
        let name = before_slash(value);
        let star = value.is_empty() || name == b"*";
        let us = self.us(|agent| {
            let ours = agent.name().as_bytes();
            let book = || occurs_in(name, ours);
            let draft = || occurs_in(ours, name);
            !star
                && match relation {
                    AgentRelation::Book => book(),
                    AgentRelation::Draft => draft(),
                    AgentRelation::Either => book() || draft(),
                }
        });
        Named { us, star, by: Additions::NONE }
    }
}

fn before_slash(value: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'/', value).unwrap_or(value.len());
    crate::octets::trim(&value[..end])
}

fn occurs_in(part: &[u8], whole: &[u8]) -> bool {
    !part.is_empty() && whole.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}
