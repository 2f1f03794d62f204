//! A plan is what the crawl then does: the same URLs by the same lines, the same hosts skipped, and no more time than it takes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crawler::engine::EngineSettings;
use crawler::plan::{HostPlan, Plan};
use crawler::record::{Decided, PlainReason, RobotsEvidence};
use crawler::store::MemoryStore;
use whole_program::request_log::Request;
use whole_program::rules::Rules;
use whole_program::simweb::{Kind, LASTING, RobotsForm, SimWeb, Site, Size, Web, generate};

use crate::crawl::{Crawl, DELAY};
use crate::hours;

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// How many webs; `WHOLE_PROGRAM_SEEDS` sets another number.
fn numbers() -> std::ops::Range<u64> {
    let set = std::env::var("WHOLE_PROGRAM_SEEDS").ok();
    0..set.map_or(12, |text| text.parse::<u64>().expect("a number"))
}

/// A generated web whose every URL is a seed, with hosts that ask for windows, rates and gaps that nobody waits for.
fn web(number: u64) -> Web {
    let size =
        Size { hosts: 10, resources: 25, lasting_outages: number.is_multiple_of(2), ..Size::default() };
    let mut web = generate(number, size);
    let slow: [fn(Rules) -> Rules; 4] = [
        |rules| rules.delay(secs(4_000)),
        |rules| rules.visit(15, 40),
        |rules| rules.rate(1, secs(5), None).rate(1, secs(30), Some((3, 20))),
        |rules| rules.rate(1, secs(7_200), None),
    ];
    for (n, slow) in slow.into_iter().enumerate() {
        if let Some(site) = web.sites.get_mut(&format!("h{n}.test")) {
            site.robots.rules = slow(std::mem::take(&mut site.robots.rules));
        }
    }
    let target = match web.sites.get("h1.test").map(|site| &site.robots.form) {
        Some(RobotsForm::Moved(to)) => Some(Web::split(to).0.to_owned()),
        _ => None,
    };
    // Where a robots.txt with a window becomes known after the window of the day, a crawl ends before the next one, and no plan
    // can know that.
    for host in target.iter().map(String::as_str).chain(["h1.test"]) {
        if let Some(site) = web.sites.get_mut(host)
            && site.robots.failures.len() < LASTING
        {
            site.robots.failures.clear();
        }
    }
    let inside = web.sites.iter().filter(|(host, _)| !host.starts_with("outside"));
    let mut seeds = Vec::new();
    for (host, site) in inside {
        // A seed's redirect may widen the scope: another test's matter.
        let paths = site.resources.iter().filter(|(_, found)| !matches!(found.kind, Kind::Redirect(..)));
        seeds.extend(paths.map(|(path, _)| format!("http://{host}{path}")));
    }
    web.seeds = seeds;
    web
}

/// What a crawl did, from the side of the web and of its decisions.
struct Done {
    log: Vec<Request>,
    /// Pages asked for.
    asked: BTreeSet<String>,
    /// Pages that robots.txt denied: the line and the rule, or the reason.
    denied: BTreeMap<String, (Option<u32>, String)>,
}

impl Done {
    fn of(crawl: &Crawl<MemoryStore>) -> Self {
        let decisions = crawl.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        let denied =
            decisions.iter().filter(|d| d.decision == Decided::Skipped && d.reason == PlainReason::RobotsTxt);
        let denied = denied.map(|d| (d.url.clone(), by(d.evidence.robots.as_ref().expect("the evidence"))));
        let denied = denied.collect();
        drop(decisions);
        Self { log: crawl.sim.log(), asked: crawl.sim.page_counts().into_keys().collect(), denied }
    }

    fn requests<'a>(&'a self, host: &'a str) -> impl Iterator<Item = &'a Request> {
        self.log.iter().filter(move |request| request.host == host)
    }

    /// From the first request to the last.
    fn took(&self, host: &str) -> Duration {
        let starts = || self.requests(host).map(|request| request.start);
        starts().max().unwrap_or_default().saturating_sub(starts().min().unwrap_or_default())
    }
}

fn by(evidence: &RobotsEvidence) -> (Option<u32>, String) {
    (evidence.line, evidence.rule.clone().unwrap_or_else(|| undated(&evidence.reason)))
}

/// A reason without the moments since when a robots.txt is unreachable: chance decides how long it is tried again before.
fn undated(reason: &str) -> String {
    let mut words: Vec<&str> = reason.split(' ').collect();
    words.retain(|word| word.trim_end_matches(':').parse::<jiff::Timestamp>().is_err());
    words.join(" ")
}

fn of_host<'a>(urls: impl IntoIterator<Item = &'a String>, host: &str) -> BTreeSet<&'a str> {
    urls.into_iter().map(String::as_str).filter(|url| Web::split(url).0 == host).collect()
}

/// Why a host must be skipped, by the model alone: how the plan's words begin.
fn skipped(web: &Web, host: &str, site: &Site) -> Option<&'static str> {
    let interval = |rules: &Rules| {
        let rates = rules.rates.iter().filter(|rate| rate.within.is_none()).map(|rate| rate.per / rate.pages);
        rates.chain(rules.crawl_delay).max().unwrap_or_default()
    };
    match &site.robots.form {
        _ if site.robots.failures.len() >= LASTING => Some("robots.txt is unreachable: "),
        RobotsForm::Forbidden | RobotsForm::Circle => Some("robots.txt closes the whole site: "),
        RobotsForm::Missing | RobotsForm::Html => None,
        RobotsForm::Moved(to) => {
            let (other, path) = Web::split(to);
            let there = &web.sites[other];
            let is_open = other == host
                || match skipped(web, other, there) {
                    Some(_) => false,
                    None if matches!(there.robots.form, RobotsForm::Missing | RobotsForm::Html) => true,
                    None => there.robots.rules.allows(path),
                };
            let too_slow = interval(&site.robots.rules) > secs(3_600);
            match (is_open, too_slow) {
                (false, _) => Some("robots.txt is unreachable: "),
                (true, true) => Some(words(&site.robots.rules)),
                (true, false) => None,
            }
        }
        _ if interval(&site.robots.rules) > secs(3_600) => Some(words(&site.robots.rules)),
        _ => None,
    }
}

fn words(rules: &Rules) -> &'static str {
    if rules.crawl_delay > Some(secs(3_600)) { "Crawl-delay 4000 s" } else { "Request-rate 7200 s" }
}

/// Whether a host's requests are its robots.txt and each page once, as far as the model says.
fn is_plain(web: &Web, host: &str, site: &Site) -> bool {
    let plain = |path: &String| {
        let resource = &site.resources[path];
        resource.failures.is_empty()
            && !matches!(resource.kind, Kind::Broken(failure) if failure.is_temporary())
    };
    let moved_here =
        |other: &Site| matches!(&other.robots.form, RobotsForm::Moved(to) if Web::split(to).0 == host);
    !matches!(site.robots.form, RobotsForm::Moved(_) | RobotsForm::Circle)
        && site.robots.failures.is_empty()
        && site.robots.max_age.is_none()
        && site.resources.keys().all(plain)
        && !web.sites.values().any(moved_here)
}

/// Compares one host of a plan with the crawl. `known` are the URLs that the plan knows.
fn compare(host: &HostPlan, done: &Done, known: impl Fn(&str) -> bool, wrong: &mut Vec<String>) {
    let name = host.host.as_str();
    let mut check = |what: &str, plan: String, crawl: String| {
        if plan != crawl {
            wrong.push(format!("{name}: {what}: {plan} in the plan, {crawl} in the crawl"));
        }
    };
    let asked = of_host(&done.asked, name).into_iter().filter(|url| known(url)).count();
    check("pages", host.allowed.to_string(), asked.to_string());
    let mut denied: BTreeMap<(Option<u32>, String), u64> = BTreeMap::new();
    for (url, by) in &done.denied {
        if Web::split(url).0 == name && known(url) {
            *denied.entry(by.clone()).or_default() += 1;
        }
    }
    let blocked = host.origins.iter().flat_map(|origin| &origin.blocked_by);
    let blocked: BTreeMap<_, _> = blocked.map(|by| ((by.line, undated(&by.rule)), by.count)).collect();
    // A crawl that waits for no such gap doesn't come to judge the host's URLs.
    if !host.skip_reason.as_ref().is_some_and(|why| why.contains("is over max-crawl-delay")) {
        check("denied", format!("{blocked:?}"), format!("{denied:?}"));
    }
    if host.skip_reason.is_some() {
        check("pages of a skipped host", String::from("0"), of_host(&done.asked, name).len().to_string());
        check("duration of a skipped host", host.least_duration.to_string(), String::from("0"));
    }
    let took = done.took(name).as_secs_f64();
    if host.least_duration > took {
        wrong.push(format!("{name}: at least {} s in the plan, {took} s in the crawl", host.least_duration));
    }
    if host.requests as usize > done.requests(name).count() {
        wrong.push(format!(
            "{name}: at least {} requests in the plan, {}",
            host.requests,
            done.requests(name).count()
        ));
    }
}

fn sums(plan: &Plan, wrong: &mut Vec<String>) {
    let longest = plan.hosts.iter().map(|host| host.least_duration).fold(0.0, f64::max);
    let sums = [
        (plan.allowed, plan.hosts.iter().map(|host| host.allowed).sum::<u64>()),
        (plan.requests, plan.hosts.iter().map(|host| host.requests).sum()),
    ];
    if sums.iter().any(|(plan, sum)| plan != sum) || plan.least_duration.to_bits() != longest.to_bits() {
        wrong.push(format!("sums: {sums:?}, {} s and {longest} s", plan.least_duration));
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_says_what_the_crawl_then_does() {
    let (mut wrong, mut plain, mut reasons) = (Vec::new(), 0, BTreeMap::new());
    for number in numbers() {
        let web = web(number);
        // Before: with every URL of the web as a seed, robots.txt alone is asked for.
        let mut ahead = Crawl::new(&SimWeb::new(web.clone()), Arc::new(MemoryStore::default()));
        ahead.adjust = |settings| EngineSettings { plan: true, ..settings };
        ahead.run(None).await.expect("the plan ends well");
        let pages: Vec<String> = ahead.sim.page_counts().into_keys().collect();
        assert_eq!(pages, Vec::<String>::new(), "web {number}: pages were asked for");
        let before = ahead.plan_online();

        let crawl = Crawl::new(&SimWeb::new(web.clone()), Arc::new(MemoryStore::default()));
        crawl.run(None).await.expect("the crawl ends well");
        let after = crawl.plan_offline();
        let done = Done::of(&crawl);

        let found = wrong.len();
        let seeds: BTreeSet<&str> = web.seeds.iter().map(String::as_str).collect();
        for host in &before.hosts {
            compare(host, &done, |url| seeds.contains(url), &mut wrong);
        }
        for host in before.hosts.iter().filter(|host| host.skip_reason.is_some()) {
            // What a crawl doesn't come to judge, by the model.
            let rules = &web.sites[&host.host].robots.rules;
            let denied = of_host(&web.seeds, &host.host);
            let denied = denied.into_iter().filter(|url| !rules.allows(Web::split(url).1)).count();
            let blocked: u64 = host.origins.iter().map(|origin| origin.blocked).sum();
            let slow = host.skip_reason.as_ref().is_some_and(|why| why.contains("is over max-crawl-delay"));
            if slow && blocked != denied as u64 {
                wrong.push(format!("{}: {blocked} denied in the plan, {denied} in the model", host.host));
            }
        }
        for host in &after.hosts {
            compare(host, &done, |_| true, &mut wrong);
            let site = &web.sites[&host.host];
            let expected = skipped(&web, &host.host, site);
            let reason = host.skip_reason.as_deref();
            if reason.is_some() != expected.is_some()
                || !reason.unwrap_or_default().starts_with(expected.unwrap_or_default())
            {
                wrong.push(format!("{}: {reason:?} in the plan, {expected:?} in the model", host.host));
            }
            *reasons.entry(expected).or_insert(0) += 1;
            let requests = done.requests(&host.host).count() as u64;
            if is_plain(&web, &host.host, site) {
                plain += 1;
                if host.requests != requests {
                    wrong.push(format!("{}: {} requests in the plan, {requests}", host.host, host.requests));
                }
            }
        }
        // Each URL by itself: the same line denies it.
        for (url, evidence, allowed) in ahead.judged.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let denied = done.denied.get(url.as_str());
            let host = before.hosts.iter().find(|host| host.host == url.host());
            if host.is_none_or(|host| host.skip_reason.is_some()) && *allowed {
                wrong.push(format!("{url}: its host is skipped, and it was judged to be fetched"));
            }
            if *allowed != denied.is_none() || denied.is_some_and(|denied| *denied != by(evidence)) {
                wrong.push(format!("{url}: {allowed} by {evidence}, {denied:?} in the crawl"));
            }
        }
        sums(&before, &mut wrong);
        sums(&after, &mut wrong);
        let hosts = |plan: &Plan| {
            plan.hosts.iter().map(|host| (host.host.clone(), host.skip_reason.is_some())).collect()
        };
        let (one, other): (Vec<_>, Vec<_>) = (hosts(&before), hosts(&after));
        if one != other {
            wrong.push(format!("hosts: {one:?} before, {other:?} after"));
        }
        for line in &mut wrong[found..] {
            line.insert_str(0, &format!("web {number}: "));
        }
        assert!(wrong.len() < 20, "{}", wrong.join("\n"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{plain} plain hosts; {reasons:?}");
    assert!(plain >= 20 && reasons.len() == 5, "{plain} plain hosts; {reasons:?}");
}

#[tokio::test(start_paused = true)]
async fn the_least_duration_is_what_the_gaps_and_windows_take() {
    let quick = Duration::from_millis(20);
    let rules = Rules::default;
    let site =
        |host, pages: usize, rules| (host, hours::site(host, (pages, pages), rules, quick, |_| Vec::new()));
    let sites = BTreeMap::from([
        site("plain.test", 200, rules()),
        site("delay.test", 100, rules().delay(secs(10))),
        site("rate.test", 100, rules().rate(1, secs(20), None)),
        site("ranges.test", 150, rules().rate(1, secs(5), None).rate(1, secs(30), Some((10, 20)))),
        site("window.test", 100, rules().visit(15, 40)),
        site("both.test", 100, rules().visit(15, 59).rate(1, secs(12), None)),
    ]);
    let web = hours::web(sites);
    let sim = SimWeb::new(web.clone());
    let crawl = Crawl::new(&sim, Arc::new(MemoryStore::default()));
    crawl.run(None).await.expect("the crawl ends well");
    let (plan, done) = (crawl.plan_offline(), Done::of(&crawl));
    assert_eq!(plan.hosts.len(), web.sites.len());
    for host in &plan.hosts {
        let (took, least) = (done.took(&host.host).as_secs_f64(), host.least_duration);
        let requests = done.requests(&host.host).count();
        assert!(requests > 100 && host.skip_reason.is_none() && host.requests == requests as u64, "{host:?}");
        let requests = requests as f64;
        // An answer takes 20 ms, and each gap is waited for up to 20 ms longer. Where a rate changes, one gap is either.
        let slack = requests * 0.041 + if host.host == "ranges.test" { 30.0 } else { 0.0 };
        println!("{}: at least {least} s, took {took} s", host.host);
        assert!(least <= took && took <= least + slack, "{}: {least} s, {took} s", host.host);
        assert!(least >= DELAY.as_secs_f64() * (requests - 1.0), "{}: {least} s", host.host);
    }
    let window = plan.hosts.iter().find(|host| host.host == "window.test").expect("the host is in the plan");
    assert!((window.least_duration - (15.0 * 60.0 + 99.0)).abs() < 1e-9, "{window:?}");
}
