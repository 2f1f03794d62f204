//! What is done about a URL.

use crate::any_site::{self, Finding, Month};
use crate::class::{Class, Mode, Switches};
use crate::kind::{Kinds, Saying};
use crate::site::Site;
use crate::strip;
use crate::url::Parts;

/// How a URL came into the crawl. All but the first are requested as they are, whatever they cost, unless they change something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// Found as a link of a page, with nothing that exempts it.
    #[default]
    Found,
    /// A seed: the user named it. It is requested even if it changes something.
    Seed,
    /// The site's sitemap or feed has it.
    Sitemap,
    /// A line `Allow` of robots.txt, longer than `/`, holds for it.
    Allowed,
    /// A fetched page names it as its canonical URL.
    Canonical,
    /// A page needs it: an image, a style sheet.
    Requisite,
    /// The user's pattern `--include` holds for it.
    Included,
    /// It was stored by an earlier run, and is visited again.
    Stored,
}

/// What is done with a URL that was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is a URL like others.
    Keep,
    /// It is requested after everything else, and with few others of its group: the same path and names of parameters. See
    /// [`group`].
    Budget,
    /// The crawl leaves the URL out, and says why.
    Skip,
    /// It is this URL: what it has more is stripped before it is known.
    Normalise(String),
}

/// Why something else than `keep` is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason<'a> {
    /// The name of the kind; `any` for the rules of any site.
    pub kind: &'a str,
    /// The class of the rule that decided.
    pub class: Class,
}

impl std::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.kind, self.class)
    }
}

/// What is done about a URL, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement<'a> {
    /// What is done with the URL.
    pub action: Action,
    /// Why; none where nothing is.
    pub reason: Option<Reason<'a>>,
}

/// A URL that is judged.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// Absolute, by HTTP, without user information. Anything else is kept.
    pub url: &'a str,
    /// The page that has the link.
    pub page: Option<&'a str>,
    /// How it came into the crawl.
    pub standing: Standing,
}

/// The name of the rules for any site in a [`Reason`].
pub const ANY: &str = "any";

/// Requests of a group of URLs, at most: default of the mode `budget`, and of what the tables say has a budget.
pub const BUDGET: u32 = 200;

/// Rules, the kinds that they know, and what a user chose.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// The kinds of sites that are known.
    pub kinds: &'a Kinds,
    /// What the user chose.
    pub switches: &'a Switches,
    /// The present month. Calendars more than 12 months ahead of it are endless.
    pub now: Month,
}

impl<'a> Judge<'a> {
    /// What is done about a URL on a site whose kinds are known, or not yet.
    ///
    /// `is_known` says whether a URL is in the crawl already: it is asked only for a list in another order, which is skipped if the list itself is known.
    ///
    /// One pass over the URL, and one for each rule of the kinds of its host: some microseconds.
    pub fn judge(
        &self,
        link: &Link<'_>,
        site: Option<&'a Site>,
        is_known: impl Fn(&str) -> bool,
    ) -> Judgement<'a> {
        const KEPT: Judgement<'static> = Judgement { action: Action::Keep, reason: None };
        let Some(parts) = Parts::new(link.url) else { return KEPT };
        if matches!(link.standing, Standing::Seed) {
            return KEPT;
        }
        // Most URLs of a host without kinds.
        let is_exempt = link.standing != Standing::Found;
        let stripped = if is_exempt { None } else { self.strip(&parts, site) };
        let bare = stripped.as_ref().and_then(|stripped| Parts::new(&stripped.url)).unwrap_or(parts);
        let found = self.find(&bare, link, site, is_known);
        if let Some((action, reason)) = found {
            let judged = self.switched(action, reason, bare.host);
            if let Some((action, reason)) = judged
                && (!is_exempt || reason.class == Class::Effect)
            {
                return Judgement { action, reason: Some(reason) };
            }
        }
        match stripped {
            Some(stripped) => Judgement {
                action: Action::Normalise(stripped.url),
                reason: Some(Reason { kind: ANY, class: stripped.class }),
            },
            None => KEPT,
        }
    }

    /// The URL without session ids, marks of advertising and what else the switches let strip; none where it has nothing of it. What
    /// `judge` says of a URL that isn't skipped, for some nanoseconds.
    pub fn stripped(&self, url: &str, site: Option<&Site>) -> Option<String> {
        // Hardly any URL has a thing to strip.
        if !url.contains(['?', ';', '(']) {
            return None;
        }
        Some(self.strip(&Parts::new(url)?, site)?.url)
    }

    fn strip(&self, parts: &Parts<'_>, site: Option<&Site>) -> Option<strip::Stripped> {
        let allows = |class| self.switches.mode(parts.host, ANY, class) != Mode::Keep;
        let strips = |name: &str| {
            site.is_some_and(|site| site.at(parts.path, self.kinds).any(|(kind, _)| kind.strips(name)))
        };
        strip::stripped(parts, allows, strips)
    }

    fn find(
        &self,
        parts: &Parts<'_>,
        link: &Link<'_>,
        site: Option<&'a Site>,
        is_known: impl Fn(&str) -> bool,
    ) -> Option<(Action, Reason<'a>)> {
        let any = any_site::find(parts, self.now);
        let of_any = |class| Reason { kind: ANY, class };
        // What changes something is decided first.
        if let Some(Finding::Skip(Class::Effect)) = any {
            return Some((Action::Skip, of_any(Class::Effect)));
        }
        let mut budget = None;
        let mut is_kept = false;
        for (kind, shown) in site.into_iter().flat_map(|site| site.at(parts.path, self.kinds)) {
            let reason = |class| Reason { kind: kind.name.as_str(), class };
            match kind.say(parts, &shown.prefix, shown.word.as_deref()) {
                Some(Saying::Keep) => is_kept = true,
                Some(Saying::Skip(class)) => return Some((Action::Skip, reason(class))),
                Some(Saying::Shorten(path, class)) => {
                    let mut url = format!("{}{path}", parts.origin);
                    if let Some(query) = parts.query {
                        url.push('?');
                        url.push_str(query);
                    }
                    return Some((Action::Normalise(url), reason(class)));
                }
                Some(Saying::Budget(class)) => budget = budget.or(Some((Action::Budget, reason(class)))),
                None => {}
            }
        }
        if is_kept {
            return None;
        }
        if let Some(Finding::Skip(class)) = any {
            return Some((Action::Skip, of_any(class)));
        }
        if let Some((base, class)) = any_site::without_order(parts) {
            let is_page = link.page.and_then(Parts::new).is_some_and(|page| {
                let of_page = any_site::without_order(&page).map(|(url, _)| url);
                of_page.unwrap_or_else(|| whole(&page)) == base
            });
            if is_page || is_known(&base) {
                return Some((Action::Skip, of_any(class)));
            }
        }
        match any {
            Some(Finding::Budget(class)) => budget.or(Some((Action::Budget, of_any(class)))),
            _ => budget,
        }
    }

    /// What the user's choice makes of an action.
    fn switched(&self, action: Action, reason: Reason<'a>, host: &str) -> Option<(Action, Reason<'a>)> {
        // A choice of what is skipped can't make a robot log out or buy.
        if reason.class == Class::Effect {
            return Some((Action::Skip, reason));
        }
        match (self.switches.mode(host, reason.kind, reason.class), action) {
            (Mode::Keep, _) => None,
            (Mode::Budget, Action::Skip) => Some((Action::Budget, reason)),
            (_, action) => Some((action, reason)),
        }
    }
}

fn whole(parts: &Parts<'_>) -> String {
    let mut url = format!("{}{}", parts.origin, parts.path);
    if let Some(query) = parts.query.filter(|query| !query.is_empty()) {
        url.push('?');
        url.push_str(query);
    }
    url
}

/// The group of a URL, for its budget: origin, path and the sorted names of its parameters.
pub fn group(url: &str) -> String {
    let Some(parts) = Parts::new(url) else { return url.to_owned() };
    let mut names: Vec<String> = parts.pairs().map(|(name, _)| name.into_owned()).collect();
    names.sort();
    names.dedup();
    format!("{}{}?{}", parts.origin, parts.path, names.join("&"))
}
