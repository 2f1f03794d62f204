//! Which pages a correct crawl asks for, computed from the model alone.

use std::collections::{BTreeSet, VecDeque};

use super::model::{Directive, Failure, Kind, Page, RobotsForm, Site, Web};

/// The limits that decide what is reached.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many redirects are followed one after another.
    pub redirects: usize,
    /// How often one URL is asked for before it is given up.
    pub tries: usize,
}

/// What a correct crawl does on a web.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Every URL that is requested, except robots.txt.
    pub requested: BTreeSet<String>,
    /// The HTML pages among them that answer 200 in the end.
    pub pages: BTreeSet<String>,
    /// Markers of noindex pages: they are nowhere in the output.
    pub unseen: BTreeSet<String>,
    /// Markers of noarchive pages: they are in no stored body.
    pub unkept: BTreeSet<String>,
    /// Markers of pages that may be stored and kept whole.
    pub kept: BTreeSet<String>,
}

/// Walks the model from the seeds within the seeds' hosts.
pub fn truth(web: &Web, limits: Limits) -> Truth {
    let scope: BTreeSet<&str> = web.seeds.iter().map(|seed| Web::split(seed).0).collect();
    let mut found = Truth::default();
    let mut queue: VecDeque<(String, usize)> = web.seeds.iter().map(|seed| (seed.clone(), 0)).collect();
    while let Some((url, redirects)) = queue.pop_front() {
        let (host, path) = Web::split(&url);
        let Some(site) = web.sites.get(host).filter(|_| scope.contains(host)) else { continue };
        if !may_fetch(web, host, site, path) || !found.requested.insert(url.clone()) {
            continue;
        }
        let Some(resource) = site.resources.get(path) else { continue };
        if resource.failures.len() >= limits.tries {
            continue;
        }
        match &resource.kind {
            Kind::Page(page) => {
                found.note(&url, page);
                if !page.asks(Directive::Nofollow) {
                    let queued = page.links.iter().filter(|link| link.kind.is_queued() && !link.nofollow);
                    queue.extend(queued.map(|link| (link.to.clone(), 0)));
                }
            }
            Kind::Redirect(_, to) if redirects < limits.redirects => {
                queue.push_back((to.clone(), redirects + 1));
            }
            Kind::Redirect(..) | Kind::Other(_) | Kind::Broken(_) => {}
        }
    }
    found
}

impl Truth {
    fn note(&mut self, url: &str, page: &Page) {
        self.pages.insert(url.to_owned());
        let set = if page.asks(Directive::Noindex) {
            &mut self.unseen
        } else if page.asks(Directive::Noarchive) {
            &mut self.unkept
        } else {
            &mut self.kept
        };
        set.insert(page.marker.clone());
    }
}

/// What robots.txt lets a robot ask for, once it is known; a site whose robots.txt never comes stays closed, and so does one
/// whose robots.txt lies where the robots.txt of another host forbids it.
fn may_fetch(web: &Web, host: &str, site: &Site, path: &str) -> bool {
    let lasting = site.robots.failures.len() >= super::generate::LASTING;
    match site.robots.form {
        _ if lasting => false,
        RobotsForm::Missing | RobotsForm::Html => true,
        RobotsForm::Forbidden | RobotsForm::Circle => false,
        RobotsForm::Star | RobotsForm::Named | RobotsForm::Oversize => site.robots.rules.allows(path),
        RobotsForm::Moved(ref to) => {
            let (other, place) = Web::split(to);
            let is_open = other == host
                || web.sites.get(other).is_some_and(|site| {
                    // One that redirects in its turn isn't followed for another's sake.
                    !matches!(site.robots.form, RobotsForm::Moved(_)) && may_fetch(web, other, site, place)
                });
            is_open && site.robots.rules.allows(path)
        }
    }
}

impl Failure {
    /// Returns whether asking again may help.
    pub fn is_temporary(self) -> bool {
        !matches!(self, Self::Status(status, _) if status < 500 && status != 429 && status != 408)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;
    use crate::simweb::{Link, LinkKind, Place, Resource, Robots};
    use std::collections::BTreeMap;
    use std::time::Duration;

    const LIMITS: Limits = Limits { redirects: 2, tries: 3 };

    fn to(url: &str) -> Link {
        Link { kind: LinkKind::Anchor, to: url.into(), href: url.into(), nofollow: false }
    }

    fn page(links: Vec<Link>, directives: Vec<(Directive, Place)>) -> Resource {
        let marker = format!("m{}", links.len());
        Resource {
            failures: vec![],
            kind: Kind::Page(Page { marker, links, directives, base: None, padding: 0 }),
        }
    }

    fn web(robots: RobotsForm, resources: Vec<(&str, Resource)>) -> Web {
        let rules = Rules::default().deny("/private");
        let site = Site {
            robots: Robots { rules, form: robots, failures: vec![], later: vec![], max_age: None },
            latency: Duration::from_millis(1),
            resources: resources.into_iter().map(|(path, resource)| (path.to_owned(), resource)).collect(),
        };
        Web {
            seed: 0,
            sites: BTreeMap::from([("a.test".to_owned(), site)]),
            seeds: vec!["http://a.test/".into()],
        }
    }

    fn paths(web: &Web) -> Vec<String> {
        truth(web, LIMITS).requested.iter().map(|url| Web::split(url).1.to_owned()).collect()
    }

    #[test]
    fn links_are_followed_within_scope_and_robots() {
        let links =
            ["http://a.test/x", "http://a.test/private/y", "http://b.test/z", "http://a.test/missing"]
                .map(to);
        let nofollow = Link { nofollow: true, ..to("http://a.test/unwanted") };
        let image = Link { kind: LinkKind::Image, ..to("http://a.test/image") };
        let root = page(links.into_iter().chain([nofollow, image]).collect(), vec![]);
        let x = page(
            vec![to("http://a.test/"), to("http://a.test/hidden")],
            vec![(Directive::Nofollow, Place::Header)],
        );
        assert_eq!(
            paths(&web(RobotsForm::Star, vec![("/", root.clone()), ("/x", x.clone())])),
            ["/", "/missing", "/x"]
        );
        assert_eq!(
            paths(&web(RobotsForm::Missing, vec![("/", root.clone()), ("/x", x)])),
            ["/", "/missing", "/private/y", "/x"]
        );
        assert!(paths(&web(RobotsForm::Forbidden, vec![("/", root)])).is_empty());
    }

    #[test]
    fn a_robots_txt_on_another_host_needs_that_hosts_leave() {
        let moved = |to: &str| RobotsForm::Moved(format!("http://{to}/robots-of-a.test.txt"));
        let root = || page(vec![], vec![]);
        let with = |form: RobotsForm, failures: Vec<Failure>| {
            let mut web = web(moved("b.test"), vec![("/", root())]);
            let mut other = web.sites["a.test"].clone();
            other.robots.form = form;
            other.robots.failures = failures;
            web.sites.insert("b.test".to_owned(), other);
            paths(&web).len()
        };
        for (form, expected) in [
            (RobotsForm::Star, 1),
            (RobotsForm::Missing, 1),
            (RobotsForm::Forbidden, 0),
            (RobotsForm::Circle, 0),
            (moved("a.test"), 0),
            (moved("b.test"), 0),
        ] {
            assert_eq!(with(form.clone(), vec![]), expected, "{form:?}");
        }
        assert_eq!(with(RobotsForm::Star, vec![Failure::Timeout; super::super::generate::LASTING]), 0);
        assert_eq!(paths(&web(moved("a.test"), vec![("/", root())])).len(), 1);
        assert_eq!(paths(&web(moved("nowhere.test"), vec![("/", root())])).len(), 0);
        let mut denied = web(RobotsForm::Moved("http://b.test/private/x".to_owned()), vec![("/", root())]);
        let mut other = denied.sites["a.test"].clone();
        other.robots.form = RobotsForm::Named;
        denied.sites.insert("b.test".to_owned(), other);
        assert!(paths(&denied).is_empty());
    }

    #[test]
    fn redirects_end_at_their_limit() {
        let hop =
            |n: u32| Resource { failures: vec![], kind: Kind::Redirect(302, format!("http://a.test/{n}")) };
        let web =
            web(RobotsForm::Missing, vec![("/", hop(1)), ("/1", hop(2)), ("/2", hop(3)), ("/3", hop(4))]);
        assert_eq!(paths(&web), ["/", "/1", "/2"]);
    }

    #[test]
    fn a_page_that_fails_too_often_shows_no_links() {
        let mut root = page(vec![to("http://a.test/x")], vec![]);
        root.failures = vec![Failure::Timeout; 2];
        assert_eq!(paths(&web(RobotsForm::Missing, vec![("/", root.clone())])), ["/", "/x"]);
        root.failures = vec![Failure::Timeout; 3];
        assert_eq!(paths(&web(RobotsForm::Missing, vec![("/", root)])), ["/"]);
    }

    #[test]
    fn markers_are_sorted_by_what_may_be_kept() {
        let root = page(
            vec![to("http://a.test/1"), to("http://a.test/2")],
            vec![(Directive::Noindex, Place::OtherMeta)],
        );
        let one =
            page(vec![], vec![(Directive::None, Place::AgentMeta), (Directive::Noarchive, Place::Meta)]);
        let two = page(vec![to("http://a.test/")], vec![(Directive::Noarchive, Place::AgentHeader)]);
        let found = truth(&web(RobotsForm::Html, vec![("/", root), ("/1", one), ("/2", two)]), LIMITS);
        let sets = [found.kept, found.unseen, found.unkept].map(|set| set.into_iter().collect::<Vec<_>>());
        assert_eq!(sets, [vec!["m2"], vec!["m0"], vec!["m1"]]);
    }
}
