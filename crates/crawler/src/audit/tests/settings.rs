//! Settings that aren't those that the crawl was made with, and machines that they didn't open.

use super::*;

/// The settings of a run of the crawl, changed.
fn changed(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = settings();
    change(&mut settings);
    settings
}

fn seed() -> CrawlUrl {
    CrawlUrl::parse(&format!("{SITE}/")).unwrap()
}

/// Records whose runs began with these settings, on record.
fn begun_with(runs: &[Settings]) -> Records {
    let mut records = Records::kept();
    for (number, settings) in runs.iter().enumerate() {
        let (run, text) = crate::config::run_settings(settings, &[seed()]).unwrap();
        records.after.push(Write::put(Tree::Meta, run.key(), text));
        if number > 0 {
            let words = format!("run {}; delay 1 s", number + 1);
            records.decisions.push(decision(at(8.0), "", "resumed", Layer::Stop, words.as_str().into()));
        }
        let start = records.decisions.iter_mut().rfind(|entry| entry.begins_a_run()).unwrap();
        start.evidence.run = Some(Box::new(run));
    }
    let record = Record { seeds: vec![seed().to_string()], ..Record::default() };
    let text = config::to_toml(&runs[0], &record).unwrap();
    records.after.push(Write::put(Tree::Meta, "settings", text));
    records
}

fn judged(records: Records, file: Settings) -> Vec<&'static str> {
    broken(&records.judge_by(&AuditRules { settings: file, ..rules() }))
}

#[test]
fn settings_as_they_were_pass_and_each_key_that_was_edited_is_reported() {
    let was = settings();
    let nothing: Vec<&str> = Vec::new();
    assert_eq!(judged(begun_with(std::slice::from_ref(&was)), was.clone()), nothing);
    // The directory was moved.
    assert_eq!(
        judged(begun_with(std::slice::from_ref(&was)), changed(|new| new.out = "elsewhere".into())),
        nothing
    );
    let edits: [fn(&mut Settings); 6] = [
        |new| "OtherRobot/1.0".clone_into(&mut new.agent.product),
        |new| new.robots.dialect = robots::Dialect::Koster1994,
        |new| new.robots.on_forbidden = config::OnForbidden::Rfc9309,
        |new| new.pace.delay = Duration::from_millis(1),
        |new| new.limits.max_depth = Some(3),
        |new| new.fetch.allow_net = vec!["10.0.0.0/8".parse().unwrap()],
    ];
    for (number, edit) in edits.into_iter().enumerate() {
        let records = begun_with(std::slice::from_ref(&was));
        assert_eq!(judged(records, changed(edit)), ["settings"], "edit {number}");
    }
}

#[test]
fn a_resume_may_have_other_limits_but_no_other_robot() {
    let nothing: Vec<&str> = Vec::new();
    let was = settings();
    let slower = changed(|new| new.pace.delay = Duration::from_secs(9));
    let runs = [was.clone(), slower.clone()];
    assert_eq!(judged(begun_with(&runs), was.clone()), nothing);
    assert_eq!(judged(begun_with(&runs), slower), nothing, "edited in the file for a resume");
    let renamed = changed(|new| "OtherRobot/1.0".clone_into(&mut new.agent.product));
    for file in [was.clone(), renamed.clone()] {
        assert_eq!(judged(begun_with(&[was.clone(), renamed.clone()]), file), ["settings"]);
    }
}

#[test]
fn settings_and_seeds_that_were_changed_in_the_database_are_reported() {
    let was = settings();
    let with = |change: &dyn Fn(&mut Records)| {
        let mut records = begun_with(std::slice::from_ref(&was));
        change(&mut records);
        judged(records, was.clone())
    };
    let (run, text) = crate::config::run_settings(&was, &[seed()]).unwrap();
    let key = run.key();
    let permissive = text.replace("\"hardened\"", "\"rfc9309\"");
    assert_ne!(permissive, text);
    let put = |key: &[u8], value: &str| Write::put(Tree::Meta, key, value.to_owned());
    assert_eq!(with(&|records| records.after.push(put(&key, &permissive))), ["settings"]);
    assert_eq!(with(&|records| records.after.push(Write::remove(Tree::Meta, key.clone()))), ["settings"]);
    assert_eq!(with(&|records| records.after.push(put(b"settings", "[robots]"))), ["settings"]);
    assert_eq!(with(&|records| records.after.push(put(b"settings", "]"))), ["settings"]);
    // Seeds that were added: what they reach would count as discovered.
    let seeds = vec![format!("{SITE}/"), format!("{SITE}/denied")];
    let records = begun_with(std::slice::from_ref(&was));
    let report = records.judge_by(&AuditRules { settings: was.clone(), seeds, ..rules() });
    assert!(broken(&report).contains(&"settings"), "{report:#?}");
    // Of an older version.
    let mut records = Records::kept();
    records.decisions[0].evidence.run = None;
    let report = records.judge();
    let check = report.checks.iter().find(|check| check.name == "settings").unwrap();
    assert!(check.unjudged.is_some());
}

/// A request of a crawl with these settings and seeds for a page of `host` at `address`.
fn asked(change: fn(&mut Settings), more_seeds: &[&str], url: &str, addresses: &[&str]) -> Vec<&'static str> {
    let was = changed(change);
    let mut seeds = vec![seed()];
    seeds.extend(more_seeds.iter().map(|seed| CrawlUrl::parse(seed).unwrap()));
    let mut records = Records::kept();
    let (run, text) = crate::config::run_settings(&was, &seeds).unwrap();
    records.after.push(Write::put(Tree::Meta, run.key(), text));
    records.decisions[0].evidence.run = Some(Box::new(run));
    let record = Record { seeds: seeds.iter().map(ToString::to_string).collect(), ..Record::default() };
    records.after.push(Write::put(Tree::Meta, "settings", config::to_toml(&was, &record).unwrap()));
    let url = CrawlUrl::parse(url).unwrap();
    for (second, address) in (0..).zip(addresses) {
        let second = 20.0 + 10.0 * f64::from(second);
        let evidence = request(second, 0.0);
        let made = evidence.request.map(|made| made.with_address(Some(address.parse().unwrap())));
        let evidence = Evidence::default().with_request(made);
        let entry = decision(at(second + 0.1), url.as_str(), "robots_rules", Layer::Robots, evidence);
        records.decisions.push(Decision { host: url.host().to_owned(), ..entry });
        records.requests += 1;
    }
    let rules = AuditRules { settings: was, seeds: record.seeds, ..rules() };
    let report = records.judge_by(&rules);
    // Seeds that were never asked for are another check's matter.
    broken(&report).into_iter().filter(|name| *name != "accounts").collect()
}

#[test]
fn a_machine_that_nothing_opened_is_reported() {
    let (none, leak): (Vec<&str>, _) = (Vec::new(), vec!["addresses"]);
    let no: fn(&mut Settings) = |_| ();
    // A seed's name opens nothing, wherever it leads.
    let named = "http://seed.test/";
    for address in
        ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "fd00::1"]
    {
        assert_eq!(asked(no, &[named], named, &[address]), leak, "{address}");
    }
    assert_eq!(asked(no, &[named], named, &["8.8.8.8", "2606:4700::1"]), none);
    // A literal seed opens itself and its port, and nothing that reserves its own kind.
    let literal = "http://10.1.2.3:8080/";
    assert_eq!(asked(no, &[literal], literal, &["10.1.2.3"]), none);
    assert_eq!(asked(no, &[literal], "http://10.1.2.3:8081/", &["10.1.2.3"]), leak);
    assert_eq!(asked(no, &[literal], "http://10.1.2.4:8080/", &["10.1.2.4"]), leak);
    assert_eq!(asked(no, &["http://169.254.1.1/"], "http://169.254.1.1/", &["169.254.1.1"]), leak);
    assert_eq!(asked(no, &["http://localhost:81/"], "http://localhost:81/", &["127.0.0.1"]), none);
    assert_eq!(asked(no, &["http://localhost:81/"], "http://localhost:82/", &["127.0.0.1"]), leak);
    assert_eq!(asked(no, &["http://localhost:81/"], "http://localhost:81/", &["10.0.0.1"]), leak);
}

#[test]
fn a_machine_that_the_operator_opened_is_asked_by_right() {
    let (none, leak): (Vec<&str>, _) = (Vec::new(), vec!["addresses"]);
    let named = "http://seed.test/";
    let net: fn(&mut Settings) = |new| new.fetch.allow_net = vec!["10.0.0.0/8".parse().unwrap()];
    assert_eq!(asked(net, &[], named, &["10.1.2.3", "::ffff:10.9.9.9"]), none);
    assert_eq!(asked(net, &[], named, &["11.1.2.3", "127.0.0.1"]), leak);
    // A name that was moved: public at first, then within the network that was opened, or the other way.
    assert_eq!(asked(net, &[], named, &["8.8.8.8", "10.1.2.3"]), leak);
    assert_eq!(asked(net, &[], named, &["10.1.2.3", "8.8.8.8"]), leak);
    let rule: fn(&mut Settings) = |new| {
        new.fetch.resolve = vec!["seed.test:10.0.0.1:81".parse().unwrap(), "*:127.0.0.1".parse().unwrap()];
    };
    assert_eq!(asked(rule, &[], named, &["10.0.0.1"]), none);
    assert_eq!(asked(rule, &[], "http://seed.test:81/", &["10.0.0.1"]), none);
    assert_eq!(asked(rule, &[], "http://seed.test:82/", &["10.0.0.1"]), leak);
    assert_eq!(asked(rule, &[], named, &["127.0.0.1"]), leak, "it has a rule of its own");
    assert_eq!(asked(rule, &[], "http://other.test/", &["127.0.0.1"]), none);
    assert_eq!(asked(rule, &[], "http://other.test/", &["127.0.0.2"]), leak);
}
