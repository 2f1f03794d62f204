//! What would change an answer, done in a copy of the crawl.

use std::sync::Arc;
use std::time::Duration;

use crawler::config::{ScopeMode, Settings, TrapSettings};
use crawler::view::{Advice, Explanation, Fate, Statement, View};
use page::url::CrawlUrl;
use whole_program::simweb::{Kind, Link, LinkKind, Page, RobotsForm, Web};

use super::scenes::Scene;

/// What carries an advice out.
enum Way {
    /// Another run with other settings, of the same web.
    Resume(Box<Settings>),
    /// Another run with other settings, of a web that has changed.
    ResumeOn(Box<Settings>, Web),
    /// Another run that fetches everything again, of a web that has changed.
    Revisit(Box<Settings>, Web),
    /// Another crawl.
    Anew(Box<Settings>, Web),
    /// Nothing is to be done: it says where to look, or that nothing helps.
    Look,
    /// It needs what the simulation hasn't.
    Elsewhere,
}

/// Why the simulation can't carry an advice out; none where it can.
pub(crate) fn done_elsewhere(advice: Advice) -> Option<&'static str> {
    Some(match advice {
        Advice::RetryCrashed => "another process reads the body; `program`, module `suspects`",
        Advice::AllowNet | Advice::Resolve => {
            "the address guard is the HTTP client's; `a_blocked_address_is_opened_by_the_option_that_is_named`"
        }
        Advice::IndexAgain => "the text is read by the thread of the index; `program`, module `search`",
        Advice::Searchable => "the site has to permit it; `another_purpose_that_the_site_permits_is_served`",
        Advice::OtherTypes => "types are judged by the HTTP client; `program`, module `rejudge`",
        Advice::OtherLink => {
            "nothing is compressed; `what_is_only_counted_is_explained_and_judged_again_by_wider_settings`"
        }
        Advice::Permission => "the site has to permit it; `program`, module `consent`",
        Advice::KeepCostly => "no generated site has costly URLs; `program`, module `costly`",
        Advice::HostAgain => "no reason of this version: a host that an earlier one skipped",
        _ => return None,
    })
}

fn number<T: std::str::FromStr>(words: &str, before: &str) -> Option<T> {
    let rest = words.split_once(before)?.1;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The page at a URL of a web, which becomes one where it is none.
fn page<'a>(web: &'a mut Web, url: &str) -> &'a mut Page {
    let (host, path) = Web::split(url);
    let site = web.sites.get_mut(host).expect("a site of the web");
    let empty = || Page {
        marker: "zxnewpage".to_owned(),
        links: Vec::new(),
        directives: Vec::new(),
        base: None,
        padding: 0,
    };
    let resource = site.resources.entry(path.to_owned()).or_insert_with(|| whole_program::simweb::Resource {
        failures: Vec::new(),
        kind: Kind::Page(empty()),
    });
    resource.failures.clear();
    if !matches!(resource.kind, Kind::Page(_)) {
        resource.kind = Kind::Page(empty());
    }
    let Kind::Page(page) = &mut resource.kind else { unreachable!("it was made one") };
    page
}

fn link(to: &str) -> Link {
    Link { kind: LinkKind::Anchor, to: to.to_owned(), href: to.to_owned(), nofollow: false }
}

/// A web whose robots.txt of this URL's site allows everything.
fn open(web: &Web, url: &str) -> Web {
    let mut web = web.clone();
    if let Some(site) = web.sites.get_mut(Web::split(url).0) {
        site.robots.form = RobotsForm::Missing;
        site.robots.failures.clear();
        site.robots.later.clear();
    }
    web
}

/// Has a web send its pages instead of walls.
fn admit(web: &mut Web) {
    let is_wall = |resource: &whole_program::simweb::Resource| matches!(resource.kind, Kind::Other(_));
    let hosts: Vec<String> = web.sites.keys().cloned().collect();
    for host in hosts {
        let walls = web.sites[&host].resources.iter().filter(|(_, resource)| is_wall(resource));
        let urls: Vec<String> = walls.map(|(path, _)| format!("http://{host}{path}")).collect();
        for url in urls {
            page(web, &url);
        }
    }
}

/// A settings value that a key of `crawl.toml` names, as high as it goes.
fn raise(settings: &mut Settings, words: &str) {
    let (limits, traps) = (&mut settings.limits, &mut settings.traps);
    if words.contains("limits.max_url_length") {
        limits.max_url_length = 2_000;
    } else if words.contains("limits.max_redirects") {
        limits.max_redirects = 50;
    } else if words.contains("limits.max_links_per_page") {
        limits.max_links_per_page = 10_000;
    } else if words.contains("limits.max_body") {
        limits.max_body = 100 << 20;
    } else if words.contains("traps.") {
        *traps = TrapSettings {
            depth: None,
            segments: None,
            repeats: None,
            urls_per_host: None,
            hosts_per_domain: None,
            hosts_per_page: None,
            query_variants: None,
            shape_variants: None,
            same_pages: None,
        };
    } else {
        panic!("a setting that isn't raised here: {words}");
    }
}

/// Lifts the limits that an advice names beside what it is about.
fn lift(settings: &mut Settings, words: &str) {
    let limits = &mut settings.limits;
    if words.contains("--max-pages above") {
        limits.max_pages = None;
    }
    if words.contains("--max-bytes above") {
        limits.max_bytes = None;
    }
    if words.contains("--max-time above") {
        limits.max_time = None;
    }
    if ["--max-pages-per-host above", "a higher --max-pages-per-host"]
        .iter()
        .any(|raised| words.contains(raised))
    {
        limits.max_pages_per_host = None;
    }
    if words.contains("a higher --max-crawl-delay") {
        settings.pace.max_crawl_delay = Duration::from_hours(1);
    }
    if words.contains("once the settings let ") {
        settings.limits.max_depth = None;
        settings.scope.exclude.clear();
        settings.scope.include.clear();
    }
}

fn way(advice: Advice, words: &str, story: &Explanation, scene: &Scene) -> Way {
    let url = story.url.as_str();
    let web = scene.crawl.sim.web();
    let settings = || Box::new(scene.crawl.base.clone());
    let with = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings();
        change(&mut settings);
        settings
    };
    let changed = |change: &dyn Fn(&mut Web)| {
        let mut web = web.clone();
        change(&mut web);
        web
    };
    let via = || story.skip.as_ref().and_then(|skip| skip.via.clone()).unwrap_or_default();
    if done_elsewhere(advice).is_some() {
        return Way::Elsewhere;
    }
    match advice {
        Advice::OtherDirectory | Advice::OtherPurpose => Way::Anew(settings(), web.clone()),
        Advice::RetryCrashed
        | Advice::AllowNet
        | Advice::Resolve
        | Advice::IndexAgain
        | Advice::Searchable
        | Advice::HostAgain
        | Advice::OtherLink
        | Advice::Permission
        | Advice::OtherTypes
        | Advice::KeepCostly => unreachable!("done elsewhere"),
        Advice::Response | Advice::PageHere => {
            Way::Revisit(settings(), changed(&|web| page(web, url).directives.clear()))
        }
        Advice::WholeResponse => Way::Revisit(settings(), changed(&|web| page(web, url).directives.clear())),
        Advice::UsableRobots | Advice::OtherRobots => {
            let mut web = open(web, url);
            if words.contains("seed file") {
                web.seeds.push(url.to_owned());
            }
            Way::Anew(with(&|settings| settings.limits.max_time = None), web)
        }
        Advice::RobotsAllowsNow => Way::Anew(settings(), {
            // What the site has now, from the start.
            changed(&|web| {
                for site in web.sites.values_mut() {
                    if let Some(whole_program::simweb::Later::Rules(rules)) = site.robots.later.pop() {
                        site.robots.rules = rules;
                        site.robots.later.clear();
                    }
                }
            })
        }),
        Advice::RobotsResponse | Advice::Continue => {
            Way::Resume(with(&|settings| settings.limits.max_time = None))
        }
        Advice::HigherLimit => Way::Resume(with(&|settings| {
            let limits = &mut settings.limits;
            let above = |most: u64| most * 1_000;
            if words.contains("--max-pages above") {
                limits.max_pages = number(words, "above ").map(above);
            } else {
                limits.max_bytes = limits.max_bytes.map(above);
            }
        })),
        Advice::MorePagesOfHost => Way::Resume(with(&|settings| {
            settings.limits.max_pages_per_host = number(words, "above ").map(|most: u64| most * 1_000);
        })),
        Advice::LongerCrawlDelay => {
            Way::Resume(with(&|settings| settings.pace.max_crawl_delay = Duration::from_hours(1)))
        }
        Advice::Admission => Way::Revisit(settings(), changed(&admit)),
        Advice::HostAdmission => Way::ResumeOn(settings(), changed(&admit)),
        Advice::SeeTarget | Advice::SameBody => Way::Look,
        Advice::WithoutWithdrawal | Advice::WithoutDirective => {
            Way::Revisit(settings(), changed(&|web| page(web, url).directives.clear()))
        }
        Advice::HigherBodyLimit => Way::Revisit(with(&|settings| raise(settings, words)), web.clone()),
        Advice::WithArchive => Way::Anew(with(&|settings| settings.warc.enabled = true), web.clone()),
        Advice::PageWithoutNofollow => {
            Way::Revisit(settings(), changed(&|web| page(web, &via()).directives.clear()))
        }
        Advice::LinkWithoutNofollow => Way::Revisit(
            settings(),
            changed(&|web| {
                page(web, &via())
                    .links
                    .iter_mut()
                    .filter(|link| link.to == url)
                    .for_each(|link| link.nofollow = false);
            }),
        ),
        Advice::AsSeed => Way::Anew(settings(), changed(&|web| web.seeds.push(url.to_owned()))),
        Advice::FollowMovedSeeds => Way::Resume(with(&|settings| settings.scope.follow_moved_seeds = true)),
        Advice::WiderScope => Way::Resume(with(&|settings| {
            settings.scope.mode = match words.split_once("--scope ").map(|(_, rest)| rest.split('`').next()) {
                Some(Some("host")) => ScopeMode::Host,
                Some(Some("domain")) => ScopeMode::Domain,
                _ => ScopeMode::Any,
            };
            if words.contains("--exclude") {
                settings.scope.exclude.clear();
            }
        })),
        Advice::OtherExclude => Way::Resume(with(&|settings| settings.scope.exclude.clear())),
        Advice::OtherInclude => Way::Resume(with(&|settings| settings.scope.include.push(".".to_owned()))),
        Advice::MaxDepth => {
            Way::Resume(with(&|settings| settings.limits.max_depth = number(words, "--max-depth ")))
        }
        Advice::HigherSetting => Way::Resume(with(&|settings| raise(settings, words))),
        Advice::Resources => Way::Resume(with(&|settings| settings.scope.resources = true)),
        Advice::LinkFromPage | Advice::ListedLink => Way::Revisit(
            settings(),
            changed(&|web| {
                // A page of the crawl that was fetched, before its other links.
                let of_host = |seed: &&&String| Web::split(seed).0 == Web::split(url).0;
                let fetched: Vec<&String> = web.seeds.iter().filter(|seed| is_fetched(scene, seed)).collect();
                let seed = fetched.iter().find(|seed| of_host(seed)).or(fetched.first()).copied();
                if let Some(seed) = seed.or(web.seeds.first()).cloned() {
                    page(web, &seed).links.insert(0, link(url));
                }
            }),
        ),
    }
}

fn is_fetched(scene: &Scene, url: &str) -> bool {
    CrawlUrl::parse(url).is_ok_and(|url| explain(scene, &url).fate == Fate::Fetched)
}

/// Carries an advice out in a copy of the crawl; gives what is wrong where the answer stays the same.
pub(crate) async fn follow(
    advice: Advice,
    words: &str,
    story: &Explanation,
    scene: &Scene,
) -> Result<bool, String> {
    let url = CrawlUrl::parse(&story.url).expect("a URL");
    let after = match way(advice, words, story, scene) {
        Way::Elsewhere => return Ok(false),
        Way::Look => {
            if let Some((target, _)) = story.redirects.first() {
                let target = CrawlUrl::parse(target).map_err(|error| error.to_string())?;
                let of_target = explain(scene, &target);
                let is_told = of_target.fate != Fate::Unseen || !of_target.change.is_empty();
                return if is_told { Ok(true) } else { Err("its target has no answer".to_owned()) };
            }
            return Ok(true);
        }
        Way::Resume(settings) => {
            let mut copy = scene.copied(scene.crawl.sim.web());
            copy.crawl.base = *settings;
            copy.run().await;
            explain(&copy, &url)
        }
        Way::ResumeOn(settings, web) => {
            let mut copy = scene.copied(&web);
            copy.crawl.base = *settings;
            copy.run().await;
            explain(&copy, &url)
        }
        Way::Revisit(mut settings, mut web) => {
            lift(&mut settings, words);
            // The first requests for a robots.txt fail; the copy's come after those.
            web.sites.values_mut().for_each(|site| site.robots.failures.clear());
            let mut copy = scene.copied(&web);
            copy.crawl.base = *settings;
            copy.revisit();
            copy.run().await;
            if words.contains("the last recrawl isn't complete") {
                copy.revisit();
                copy.run().await;
            }
            explain(&copy, &url)
        }
        Way::Anew(mut settings, web) => {
            lift(&mut settings, words);
            let mut anew = Scene::new(&web, *settings);
            if advice != Advice::OtherPurpose {
                anew.crawl.purposes.clone_from(&scene.crawl.purposes);
                anew.crawl.silence.clone_from(&scene.crawl.silence);
            }
            anew.run().await;
            explain(&anew, &url)
        }
    };
    let is_done = match advice {
        Advice::Continue | Advice::HigherLimit | Advice::RobotsResponse => {
            !matches!(after.fate, Fate::Queued | Fate::Parked)
        }
        // A limit of the crawl may end it before the URL's turn.
        Advice::UsableRobots => !after.statements.contains(&Statement::QueuedUnreachable),
        Advice::MorePagesOfHost | Advice::LongerCrawlDelay => after.fate != Fate::Parked,
        Advice::PageHere | Advice::Response | Advice::Admission | Advice::HostAdmission => {
            after.fate == Fate::Fetched
        }
        Advice::WithoutDirective | Advice::WithoutWithdrawal => {
            after.page.as_ref().is_some_and(|page| page.indexed && page.followed)
        }
        Advice::WithArchive => after.page.as_ref().is_some_and(|page| page.archived),
        Advice::HigherBodyLimit | Advice::WholeResponse => !after.statements.contains(&Statement::ReadInPart),
        _ => reason(&after) != reason(story),
    };
    if is_done {
        return Ok(true);
    }
    let decisions =
        after.decisions.iter().map(|row| format!("{} {} {}/{}", row.at, row.decision, row.layer, row.reason));
    let decisions: Vec<String> = decisions.collect();
    let host = after.host.as_ref().map(|host| (host.queued, host.parked.clone(), host.wait_reason));
    Err(format!("afterwards: {:?}: {}; {decisions:?}, host {host:?}", after.fate, after.answer))
}

/// What an answer comes down to.
fn reason(story: &Explanation) -> (Fate, Vec<Statement>, Option<String>) {
    let skip = story.skip.as_ref().map(|skip| format!("{:?} {}", skip.layer, skip.reason));
    (story.fate, story.statements.clone(), skip)
}

fn explain(scene: &Scene, url: &CrawlUrl) -> Explanation {
    let view = View::over(Arc::clone(&scene.crawl.store)).expect("the store can be read");
    view.explain(url).expect("it can be explained")
}
