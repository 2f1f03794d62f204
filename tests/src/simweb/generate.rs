//! From a seed to a web.

use std::collections::BTreeMap;
use std::time::Duration;

use super::href;
use super::model::{
    Content, Directive, Failure, Kind, Link, LinkKind, Page, Place, Resource, Robots, RobotsForm, Site, Web,
};
use crate::random::Random;
use crate::rules::Rules;

/// From this many failures on, a robots.txt never comes.
pub const LASTING: usize = 1_000;

/// How large and how hostile a web is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Hosts in scope.
    pub hosts: usize,
    /// Hosts that are linked, and not in scope.
    pub outside: usize,
    /// Most resources of a host.
    pub resources: usize,
    /// Whether a host's robots.txt may stay unreachable for good.
    pub lasting_outages: bool,
}

impl Default for Size {
    fn default() -> Self {
        Self { hosts: 8, outside: 2, resources: 40, lasting_outages: false }
    }
}

/// Generates the web that belongs to a seed; the same one always.
pub fn generate(seed: u64, size: Size) -> Web {
    let mut random = Random::new(seed);
    let inside: Vec<String> = (0..size.hosts).map(|n| format!("h{n}.test")).collect();
    let outside = (0..size.outside).map(|n| format!("outside{n}.test"));
    let hosts: Vec<String> = inside.iter().cloned().chain(outside).collect();
    let mut paths = Random::fork(&mut random);
    let places: BTreeMap<String, Vec<String>> =
        hosts.iter().map(|host| (host.clone(), site_paths(&mut paths, size.resources))).collect();
    let all: Vec<String> = places
        .iter()
        .flat_map(|(host, paths)| paths.iter().map(move |path| format!("http://{host}{path}")))
        .collect();
    let mut sites = BTreeMap::new();
    for host in &hosts {
        let mut random = random.fork();
        let robots = robots(&mut random, host, &hosts, size);
        let latency = Duration::from_millis(random.between(5, 400));
        let resources = Growth { random, host, own: &places[host], all: &all }.resources();
        sites.insert(host.clone(), Site { robots, latency, resources });
    }
    keep_files_direct(&mut sites);
    let mut seeds: Vec<String> = inside.iter().map(|host| format!("http://{host}/")).collect();
    // A second seed on a host, a page: what a redirect from a seed does to the scope is another test's matter.
    let first = &sites[&inside[0]].resources;
    let pages: Vec<&String> =
        first.iter().filter(|(_, found)| matches!(found.kind, Kind::Page(_))).map(|(path, _)| path).collect();
    seeds.push(format!("http://{}{}", inside[0], random.pick(&pages)));
    Web { seed, sites, seeds }
}

/// A robots.txt that lies on another host waits for that host's own. Where that one is moved as well it depends on the moment
/// whether it is known: such a file lies on its own host instead.
fn keep_files_direct(sites: &mut BTreeMap<String, Site>) {
    let moved: Vec<String> = sites
        .iter()
        .filter(|(_, site)| matches!(site.robots.form, RobotsForm::Moved(_)))
        .map(|(host, _)| host.clone())
        .collect();
    for (host, site) in sites {
        if let RobotsForm::Moved(to) = &mut site.robots.form
            && moved.iter().any(|other| Web::split(to).0 == other)
        {
            *to = format!("http://{host}/robots-of-{host}.txt");
        }
    }
}

fn site_paths(random: &mut Random, most: usize) -> Vec<String> {
    let count = random.between(1, most as u64);
    let rest = (1..count).map(|n| match random.between(0, 7) {
        0 | 1 => format!("/p{n}.html"),
        2 => format!("/dir1/p{n}.html"),
        3 => format!("/dir1/dir2/p{n}.html"),
        4 => format!("/private/p{n}"),
        5 => format!("/q?id={n}&lang=en"),
        6 => format!("/late/p{n}.html"),
        _ => format!("/files/f{n}.pdf"),
    });
    std::iter::once("/".to_owned()).chain(rest).collect()
}

fn robots(random: &mut Random, host: &str, hosts: &[String], size: Size) -> Robots {
    let form = match random.between(0, 19) {
        0..=4 => RobotsForm::Star,
        5..=8 => RobotsForm::Named,
        9..=12 => RobotsForm::Missing,
        13 => RobotsForm::Forbidden,
        14 => RobotsForm::Html,
        15 | 16 => RobotsForm::Oversize,
        17 | 18 => RobotsForm::Moved(format!("http://{}/robots-of-{host}.txt", random.pick(hosts))),
        _ => RobotsForm::Circle,
    };
    let mut failures = Vec::new();
    if random.chance(15) {
        let failure = [
            Failure::Status(503, None),
            Failure::Status(503, Some(120)),
            Failure::Status(500, None),
            Failure::Status(429, Some(60)),
            Failure::Timeout,
            Failure::Refused,
            Failure::Truncated,
        ];
        failures = vec![*random.pick(&failure); random.between(1, 2) as usize];
    }
    if size.lasting_outages && random.chance(15) {
        failures =
            vec![*random.pick(&[Failure::Status(503, None), Failure::Timeout, Failure::Refused]); LASTING];
    }
    let max_age = random.chance(15).then(|| random.between(0, 1200));
    Robots { rules: rules(random), form, failures, later: vec![], max_age }
}

fn rules(random: &mut Random) -> Rules {
    let mut rules = Rules::default();
    let patterns = [
        "/private/",
        "/*.pdf$",
        "/q?",
        "/dir1/*.html",
        "/dir1/dir2/",
        "/*lang=",
        "/files",
        "/p1",
        "/private/p7$",
    ];
    for _ in 0..random.between(0, 5) {
        let pattern = random.pick(&patterns);
        rules = if random.chance(30) { rules.allow(pattern) } else { rules.deny(pattern) };
    }
    if random.chance(20) {
        rules = rules.delay(Duration::from_millis(random.between(1, 12) * 500));
    }
    rules
}

/// One site under construction.
struct Growth<'a> {
    random: Random,
    host: &'a str,
    /// The site's own paths; the first one is `/`.
    own: &'a [String],
    /// Every URL of the web.
    all: &'a [String],
}

impl Growth<'_> {
    fn resources(mut self) -> BTreeMap<String, Resource> {
        let mut resources: BTreeMap<String, Resource> = BTreeMap::new();
        for path in self.own {
            let resource = self.resource(path);
            resources.insert(path.clone(), resource);
        }
        // Each path is linked from an earlier page, so that much of the site can be reached.
        let mut pages: Vec<String> = Vec::new();
        for path in self.own {
            if !pages.is_empty() {
                let from: String = self.random.pick(&pages).clone();
                self.link(&mut resources, &from, self.url(path));
            }
            if matches!(resources[path].kind, Kind::Page(_)) {
                pages.push(path.clone());
            }
        }
        for from in &pages {
            for _ in 0..self.random.between(0, 6) {
                let to = self.target();
                self.link(&mut resources, from, to);
            }
        }
        if self.random.chance(40) {
            self.chain(&mut resources);
        }
        resources
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.host)
    }

    fn target(&mut self) -> String {
        match self.random.between(0, 9) {
            0..=5 => format!("http://{}{}", self.host, self.random.pick(self.own)),
            6..=8 => self.random.pick(self.all).clone(),
            _ => format!("http://{}/missing{}", self.host, self.random.between(0, 3)),
        }
    }

    fn resource(&mut self, path: &str) -> Resource {
        let roll = if path == "/" { 0 } else { self.random.between(0, 99) };
        let kind = match roll {
            0..=69 => Kind::Page(self.page(path)),
            70..=77 => {
                let status = *self.random.pick(&[301, 302, 303, 307, 308]);
                Kind::Redirect(status, self.random.pick(self.own).clone()).absolute(self.host)
            }
            78..=81 => Kind::Redirect(302, self.random.pick(self.all).clone()),
            82..=89 => {
                let content_type =
                    *self.random.pick(&["text/plain", "application/pdf", "image/png", "application/json"]);
                let body = "<a href=\"/from-no-page\">not a link</a>".to_owned();
                Kind::Other(Content { content_type, body })
            }
            90..=95 => Kind::Broken(Failure::Status(*self.random.pick(&[404, 410, 403, 401, 400]), None)),
            96 | 97 => Kind::Broken(Failure::Status(500, None)),
            98 => Kind::Broken(Failure::Timeout),
            _ => Kind::Broken(Failure::Truncated),
        };
        let failing = matches!(kind, Kind::Page(_)) && self.random.chance(6);
        let failures = [
            Failure::Status(503, Some(30)),
            Failure::Status(503, None),
            Failure::Status(429, Some(45)),
            Failure::Status(502, None),
            Failure::Timeout,
            Failure::Refused,
        ];
        let failures = if failing { vec![*self.random.pick(&failures)] } else { Vec::new() };
        Resource { failures, kind }
    }

    fn page(&mut self, path: &str) -> Page {
        let mut directives = Vec::new();
        if self.random.chance(25) {
            let directive = [Directive::Noindex, Directive::Nofollow, Directive::Noarchive, Directive::None];
            let place = [
                Place::Meta,
                Place::AgentMeta,
                Place::Header,
                Place::AgentHeader,
                Place::OtherMeta,
                Place::OtherHeader,
            ];
            // A site whose front page hides its links would leave nothing to look at.
            let directive = if path == "/" { Directive::Noarchive } else { *self.random.pick(&directive) };
            directives.push((directive, *self.random.pick(&place)));
        }
        let base = self.random.chance(8).then(|| format!("http://{}/dir1/base/", self.host));
        let padding = if self.random.chance(4) { self.random.between(50_000, 400_000) as usize } else { 0 };
        Page {
            marker: format!("zx{:016x}", self.random.bits()),
            links: Vec::new(),
            directives,
            base,
            padding,
        }
    }

    /// Puts a link on one of the site's pages.
    fn link(&mut self, resources: &mut BTreeMap<String, Resource>, from: &str, to: String) {
        let kind = match self.random.between(0, 19) {
            0..=11 => LinkKind::Anchor,
            12 => LinkKind::Area,
            13 => LinkKind::Iframe,
            14 => LinkKind::Next,
            15 => LinkKind::Refresh,
            16 => LinkKind::Image,
            17 => LinkKind::Script,
            18 => LinkKind::Stylesheet,
            _ => LinkKind::Form,
        };
        let nofollow = matches!(kind, LinkKind::Anchor | LinkKind::Area) && self.random.chance(8);
        let way = self.random.between(0, 9);
        let place = self.url(from);
        if let Some(Resource { kind: Kind::Page(page), .. }) = resources.get_mut(from) {
            let href = href::written(way, page.base.as_deref().unwrap_or(&place), &to);
            page.links.push(Link { kind, to, href, nofollow });
        }
    }

    /// A chain of twelve redirects, one more than a robot that allows ten ever asks for, and a circle of two.
    fn chain(&mut self, resources: &mut BTreeMap<String, Resource>) {
        for n in 0..12 {
            let kind = Kind::Redirect(302, self.url(&format!("/chain{}", n + 1)));
            resources.insert(format!("/chain{n}"), Resource { failures: vec![], kind });
        }
        for n in 0..2 {
            let kind = Kind::Redirect(301, self.url(&format!("/circle{}", 1 - n)));
            resources.insert(format!("/circle{n}"), Resource { failures: vec![], kind });
        }
        if let Some(Resource { kind: Kind::Page(front), .. }) = resources.get_mut("/") {
            for path in ["/chain0", "/circle0"] {
                let to = format!("http://{}{path}", self.host);
                front.links.push(Link { kind: LinkKind::Anchor, href: to.clone(), to, nofollow: false });
            }
        }
    }
}

impl Kind {
    fn absolute(self, host: &str) -> Self {
        match self {
            Self::Redirect(status, path) => Self::Redirect(status, format!("http://{host}{path}")),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_always_the_same_web() {
        let web = |seed| format!("{:?}", generate(seed, Size::default()));
        assert_eq!(web(5), web(5));
        assert_ne!(web(5), web(6));
    }

    #[test]
    fn the_webs_of_many_seeds_hold_every_kind_of_trouble() {
        let webs: Vec<Web> = (0..60).map(|seed| generate(seed, Size::default())).collect();
        let webs = format!("{webs:?}");
        for trouble in [
            "form: Star",
            "form: Named",
            "form: Missing",
            "form: Forbidden",
            "form: Html",
            "form: Oversize",
            "form: Moved",
            "form: Circle",
            "Noindex, Meta",
            "Nofollow, Header",
            "Noarchive, AgentMeta",
            "None, AgentHeader",
            "OtherHeader",
            "Status(503, Some(30))",
            "Status(429, Some(45))",
            "Broken(Timeout)",
            "Broken(Truncated)",
            "Refused",
            "nofollow: true",
            "Redirect(308",
            "/chain11",
            "/circle1",
            "crawl_delay: Some",
            "base: Some",
            "max_age: Some",
            "kind: Refresh",
            "image/png",
            "outside1.test",
        ] {
            assert!(webs.contains(trouble), "{trouble}");
        }
    }
}
