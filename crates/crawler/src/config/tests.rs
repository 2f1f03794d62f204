//! Tests of the module as a whole.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use meta::consent::Purpose;
use proptest::prelude::*;

use super::*;
use crate::costly::{Class, Mode};
use crate::seeds::BadLine;
use crate::wishes::{WishDelay, WishSettings};

fn with_file(text: &str) -> Result<Loaded, ConfigError> {
    load_all(&CliOverrides::default(), &[], Some(text))
}

fn load_all(cli: &CliOverrides, env: &[(&str, &str)], text: Option<&str>) -> Result<Loaded, ConfigError> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("c.toml");
    if let Some(text) = text {
        std::fs::write(&file, text).unwrap();
    }
    let env = env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    load(cli, env, text.map(|_| file.as_path()))
}

fn message(result: Result<Loaded, ConfigError>) -> String {
    result.unwrap_err().to_string()
}

fn polite() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/polite.toml")
}

#[test]
fn the_stronger_source_wins() {
    let file = "[pace]\ndelay = \"2s\"\nmax_delay = \"20s\"\nadaptive = 2\n";
    let env = [("CRAWL_DELAY", "3s"), ("CRAWL_MAX_DELAY", "30s"), ("CRAWL_RETRIES", ""), ("OTHER", "1")];
    let mut cli = CliOverrides::default();
    cli.set("pace.delay", "4s");
    let loaded = load_all(&cli, &env, Some(file)).unwrap();
    let pace = &loaded.settings.pace;
    assert_eq!(pace.delay, Duration::from_secs(4));
    assert_eq!(pace.max_delay, Duration::from_secs(30));
    assert!((pace.adaptive - 2.0).abs() < f64::EPSILON);
    assert_eq!(pace.concurrency, PaceSettings::default().concurrency);
    let origin = |path| loaded.origins[path];
    assert_eq!(origin("pace.delay"), ValueSource::Cli);
    assert_eq!(origin("pace.max_delay"), ValueSource::Env);
    assert_eq!(origin("pace.adaptive"), ValueSource::File);
    assert_eq!(origin("pace.concurrency"), ValueSource::Default);
    assert_eq!(origin("fetch.retries"), ValueSource::Default);
    assert_eq!(loaded.origins.len(), KEYS.len());
}

#[test]
fn every_variable_is_read() {
    let text = |path: &str| match path {
        "seed" | "out" | "fetch.resolve_file" => "",
        "agent.product" => "SuperRobot/1.0",
        "agent.contact" => "ann@example.org",
        "scope.mode" | "scope.resource_hosts" | "pace.groups" => "domain",
        "scope.types" => "text/*,application/pdf",
        "robots.dialect" => "strictest",
        "scope.include" | "scope.exclude" => "/a/ /b/",
        "scope.resources" | "scope.sitemaps" | "scope.follow_moved_seeds" | "pace.per_ip" => "yes",
        "warc.enabled" | "index.enabled" => "no",
        "ledger.level" => "full",
        "pace.adaptive" => "2.5",
        "pace.max_bandwidth" => "7KiB",
        "pace.concurrency"
        | "pace.max_rate"
        | "limits.max_pages"
        | "limits.max_pages_per_host"
        | "limits.max_resources"
        | "limits.max_depth"
        | "fetch.retries" => "7",
        "limits.max_bytes" | "limits.max_body" => "7MiB",
        "costly.action" => "budget",
        "fetch.resolve" => "a.test:127.0.0.1 b.test:[::1]:80",
        "fetch.allow_net" => "10.0.0.0/8 fc00::/7",
        "consent.purpose" => "search,tdm",
        "walls.action" => "keep",
        _ => "7s",
    };
    for key in KEYS {
        let Some(variable) = key.variable() else { continue };
        if text(key.path).is_empty() {
            continue;
        }
        let loaded = load_all(&CliOverrides::default(), &[(&variable, text(key.path))], None).unwrap();
        assert_eq!(loaded.origins[key.path], ValueSource::Env);
        assert_ne!(loaded.settings, Settings::default(), "{variable}");
        let wrong = load_all(&CliOverrides::default(), &[(&variable, "\u{1b}[31m(")], None);
        let message =
            wrong.map_or_else(|error| (error.exit_code(), error.to_string()), |_| (0, String::new()));
        assert!(message.0 == 3 && message.1.starts_with(&format!("{variable}: ")), "{variable}: {message:?}");
        assert!(!message.1.contains('\u{1b}'));
    }
}

#[test]
fn an_option_may_be_used_at_the_top_under_its_own_name() {
    let short = "agent = \"SuperRobot/1.0\"\nscope = \"domain\"\nwarc = false\nmax-pages = 10\nmax_depth = 3\nallow-net = [\"10.0.0.0/8\"]\n";
    let long = "[agent]\nproduct = \"SuperRobot/1.0\"\n[scope]\nmode = \"domain\"\n[warc]\nenabled = false\n\
                [limits]\nmax_pages = 10\nmax_depth = 3\n[fetch]\nallow_net = [\"10.0.0.0/8\"]\n";
    assert_eq!(with_file(short).unwrap().settings, with_file(long).unwrap().settings);
    let twice = "delay = \"1s\"\n[pace]\ndelay = \"2s\"\n";
    assert!(message(with_file(twice)).contains("c.toml:3: `delay` is set twice, first on line 1"));
}

#[test]
fn an_unknown_key_is_reported_with_its_line_and_a_suggestion() {
    for (text, expected) in [
        ("[pace]\n\ndely = \"1s\"\n", "c.toml:3: unknown key `dely` in [pace]; did you mean `delay`?"),
        (
            "[pace]\ntimeout = \"1s\"\n",
            "c.toml:2: unknown key `timeout` in [pace]; did you mean `timeout` in `[fetch]`?",
        ),
        ("max_paegs = 1\n", "c.toml:1: unknown key `max_paegs`; did you mean `max_pages` in `[limits]`?"),
        (
            "[[extract]]\nname = \"a\"\nselectr = \"b\"\n",
            "c.toml:3: unknown key `selectr` in [[extract]]; did you mean `selector`?",
        ),
        ("[qqq]\nx = 1\n", "c.toml:1: unknown key `qqq`; `crawl config show` lists every key"),
        (
            "ignore_robots = true\n",
            "c.toml:1: unknown key `ignore_robots`; `crawl config show` lists every key",
        ),
    ] {
        let message = message(with_file(text));
        assert!(message.ends_with(expected), "{message}");
    }
}

#[test]
fn an_invalid_value_is_reported_with_its_line() {
    for (text, expected) in [
        (
            "[pace]\ndelay = 1\n",
            "c.toml:2: pace.delay: \"1\" isn't a duration: a number and a unit, as in 500ms, 10s, 5m, 2h",
        ),
        ("[pace]\nconcurrency = -1\n", "c.toml:2: pace.concurrency: "),
        ("[pace]\nconcurrency = 0\n", "c.toml:2: pace.concurrency: 0 is too small: the minimum is 1"),
        ("[pace]\nadaptive = nan\n", "c.toml:2: pace.adaptive: must be between"),
        ("[pace]\nmax_rate = 0\n", "c.toml:2: pace.max_rate: must be between 0.001 and 1000000"),
        ("[pace]\nmax_rate = \"inf\"\n", "c.toml:2: pace.max_rate: must be between"),
        ("[pace]\nmax_rate = \"1/m\"\n", "c.toml:2: pace.max_rate: "),
        (
            "[scope]\n\nexclude = [\"(\"]\n",
            "c.toml:3: scope.exclude: \"(\" isn't a regular expression: unclosed group",
        ),
        (
            "[agent]\nproduct = \"SuperRobot\"\n",
            "c.toml:2: agent.product: the agent \"SuperRobot\" has no version",
        ),
        ("[agent]\ncontact = \"nobody\"\n", "c.toml:2: agent.contact: the contact \"nobody\" is neither"),
        ("[warc]\ndedup = \"spring\"\n", "c.toml:2: warc.dedup: \"spring\" is neither \"off\" nor \"crawl\""),
        ("[warc]\ndedup = []\n", "c.toml:2: warc.dedup: the list is empty"),
        ("[warc]\ndedup = [\"\"]\n", "c.toml:2: warc.dedup: a directory has no name"),
        ("[warc]\ndedup = true\n", "c.toml:2: warc.dedup: "),
        (
            "[agent]\ncontact = [\"ann@example.org\", \"nobody\"]\n",
            "c.toml:2: agent.contact: the contact \"nobody\" is neither",
        ),
        ("[agent]\ncontact = [\"\"]\n", "c.toml:2: agent.contact: the contact \"\" is neither"),
        ("[agent]\ncontact = 7\n", "c.toml:2: agent.contact: "),
        ("[limits]\nmax_pages = 0\n", "c.toml:2: limits.max_pages: 0 is too small"),
        ("[limits]\nmax_body = \"10K\"\n", "c.toml:2: limits.max_body: \"10K\" isn't a size"),
        (
            "[limits]\nmax_body = 10\n",
            "c.toml:2: limits.max_body: \"10\" isn't a size: the unit is missing, as in 10B, 10KB or 10MiB",
        ),
        (
            "[warc]\nmax_file_size = \"1000000\"\n",
            "c.toml:2: warc.max_file_size: \"1000000\" isn't a size: the unit",
        ),
        ("[robots]\ndialect = \"rfc\"\n", "c.toml:2: robots.dialect: unknown variant `rfc`"),
        ("[fetch]\nresolve = [\"a.test\"]\n", "c.toml:2: fetch.resolve: \"a.test\" isn't HOST:ADDR"),
        ("[fetch]\nallow_net = [\"all\"]\n", "c.toml:2: fetch.allow_net: "),
        ("[[extract]]\nname = \"a\"\nselector = \"<<\"\n", "extract: \"<<\" isn't a CSS selector"),
        ("[pace\ndelay = 1\n", "c.toml:1: "),
    ] {
        let message = message(with_file(text));
        assert!(message.contains(expected), "{text:?}: {message}");
    }
}

#[test]
fn an_unreadable_file_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let none = dir.path().join("none.toml");
    for path in [none.as_path(), dir.path()] {
        let error = load(&CliOverrides::default(), [], Some(path)).unwrap_err();
        assert!(matches!(error, ConfigError::Unreadable { .. }));
        assert_eq!(error.exit_code(), 3);
    }
    std::fs::write(&none, b"\xff").unwrap();
    assert!(matches!(load(&CliOverrides::default(), [], Some(&none)), Err(ConfigError::Unreadable { .. })));
}

#[test]
fn a_wrong_option_is_a_usage_error() {
    let mut cli = CliOverrides::default();
    cli.set("agent.product", "SuperRobot");
    let error = load_all(&cli, &[], None).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().starts_with("--agent: the agent \"SuperRobot\" has no version"));
    assert_eq!(with_file("").unwrap().product().unwrap_err().exit_code(), 2);
}

#[test]
fn every_size_needs_its_unit_in_the_file_and_in_the_environment() {
    let defaults: toml::Table = toml::to_string(&Settings::default()).unwrap().parse().unwrap();
    let is_size = |value: &toml::Value| {
        let unit = value.as_str().map_or("", |text| text.trim_start_matches(|c: char| c.is_ascii_digit()));
        ["B", "KB", "MB", "GB", "KiB", "MiB", "GiB"].contains(&unit)
    };
    let mut sizes = vec!["limits.max_bytes".to_owned(), "pace.max_bandwidth".to_owned()];
    for (section, values) in &defaults {
        let values = values.as_table().into_iter().flatten();
        sizes.extend(values.filter(|(_, value)| is_size(value)).map(|(name, _)| format!("{section}.{name}")));
    }
    assert!(sizes.len() > 20, "{sizes:?}");
    for path in sizes {
        let (section, name) = path.split_once('.').unwrap();
        for number in ["1048576", "\"1048576\""] {
            let message = message(with_file(&format!("[{section}]\n{name} = {number}\n")));
            assert!(message.contains("the unit is missing, as in 1048576B"), "{path} = {number}: {message}");
        }
        let key = KEYS.iter().find(|key| key.path == path).unwrap();
        let Some(variable) = key.variable() else { continue };
        let message = message(load_all(&CliOverrides::default(), &[(&variable, "1048576")], None));
        assert!(message.contains("the unit is missing, as in 1048576B"), "{variable}: {message}");
    }
}

#[test]
fn a_misspelt_variable_is_warned_of() {
    let loaded =
        load_all(&CliOverrides::default(), &[("CRAWL_DELEY", "1s"), ("CRAWL_CONFIG", "/x")], None).unwrap();
    assert_eq!(loaded.warnings.len(), 1);
    assert!(loaded.warnings[0].contains("did you mean CRAWL_DELAY?"));
}

#[test]
fn the_file_with_addresses_becomes_rules() {
    let dir = tempfile::tempdir().unwrap();
    let hosts = dir.path().join("hosts");
    std::fs::write(&hosts, "b.test:127.0.0.2:80\n").unwrap();
    let mut cli = CliOverrides::default();
    cli.set("fetch.resolve", vec!["a.test:127.0.0.1"]);
    cli.set("fetch.resolve_file", hosts.display().to_string());
    let settings = load_all(&cli, &[], None).unwrap().settings;
    assert_eq!(settings.fetch.resolve.len(), 2);
    assert_eq!(settings.fetch.resolve_file.as_os_str(), "");
    cli.set("fetch.resolve_file", dir.path().join("none").display().to_string());
    assert!(message(load_all(&cli, &[], None)).starts_with("--resolve-file: can't read "));
}

#[test]
fn the_headers_name_us() {
    let agent = |contact: &str| AgentSettings {
        product: "SuperRobot/1.0".into(),
        contact: contact.split_whitespace().map(|contact| contact.parse().unwrap()).collect(),
        aliases: vec![],
    };
    let (mail, page, none) = (agent("ann@example.org"), agent("https://example.org/robot"), agent(""));
    assert_eq!(mail.user_agent(), "SuperRobot/1.0 (+ann@example.org)");
    assert_eq!(mail.from_header().as_deref(), Some("ann@example.org"));
    assert_eq!(page.user_agent(), "SuperRobot/1.0 (+https://example.org/robot)");
    assert_eq!((page.from_header(), page.name()), (None, "SuperRobot"));
    assert_eq!((none.user_agent().as_str(), none.from_header()), ("SuperRobot/1.0", None));
    let both = agent("https://example.org/robot ann@example.org bob@example.org");
    assert_eq!(
        both.user_agent(),
        "SuperRobot/1.0 (+https://example.org/robot; +ann@example.org; +bob@example.org)"
    );
    assert_eq!(both.from_header().as_deref(), Some("ann@example.org"));
}

#[test]
fn one_contact_may_be_a_text_and_nine_are_too_many() {
    let contacts = |value: &str| with_file(&format!("[agent]\ncontact = {value}\n"));
    let one = contacts("\"ann@example.org\"").unwrap();
    assert_eq!(one.settings.agent.contact, [Contact::Email("ann@example.org".to_owned())]);
    assert_eq!(one.settings, contacts("[\"mailto:ann@example.org\"]").unwrap().settings);
    assert_eq!(contacts("\"\"").unwrap().settings, contacts("[]").unwrap().settings);
    let list = |count: usize| format!("[{}]", vec!["\"ann@example.org\""; count].join(", "));
    assert_eq!(contacts(&list(8)).unwrap().settings.agent.contact.len(), 8);
    let refused = message(contacts(&list(9)));
    assert!(
        refused.contains("c.toml:2: agent.contact: 9 contacts were given; the maximum is 8"),
        "{refused}"
    );
}

#[test]
fn the_directories_of_earlier_crawls_are_absolute() {
    let dedup = |value: &str| with_file(&format!("[warc]\ndedup = {value}\n")).unwrap().settings.warc.dedup;
    assert_eq!((dedup("\"off\""), dedup("\"crawl\"")), (WarcDedup::Off, WarcDedup::Crawl));
    let here = std::env::current_dir().unwrap();
    let expected = WarcDedup::Earlier(vec![here.join("spring"), "/crawls/autumn".into()]);
    assert_eq!(dedup("[\"spring\", \"/crawls/autumn\"]"), expected);
}

#[test]
fn the_polite_file_holds_every_key_with_its_default() {
    let path = polite();
    let loaded = load(&CliOverrides::default(), [], Some(&path)).unwrap();
    assert_eq!(loaded.settings, Settings::default());
    assert_eq!(loaded.warnings, Vec::<String>::new());
    let missing: Vec<_> = loaded
        .entries()
        .into_iter()
        // The rules of [[extract]] have no default; the file shows one in a comment.
        .filter(|(key, _, origin)| *origin != ValueSource::File && key.path != "extract")
        .map(|(key, ..)| key.path)
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(keys::EXTRACT_KEYS.iter().all(|key| text.contains(&format!("\n#{key} = "))));
    let example: Vec<_> =
        text.lines().skip_while(|line| *line != "#[[extract]]").map(|line| &line[1..]).collect();
    assert_eq!(with_file(&example.join("\n")).unwrap().settings.extract.len(), 1);
}

#[test]
fn a_wish_is_read_and_one_that_can_not_be_meant_is_refused() {
    let text = "[pace]\nzone = \"Europe/Berlin\"\n[[pace.wishes]]\nhosts = [\"*.a.test\"]\nhours = \"22:00-06:00\"\n\
                requests_per_day = 5000\nbytes_per_day = \"1GB\"\ndelay = \"5s\"\ndelays = { \"08:00-18:00\" = \"30s\" }\nreason = \"mail\"\n";
    let pace = with_file(text).unwrap().settings.pace;
    let expected = WishSettings {
        hosts: vec!["*.a.test".to_owned()],
        hours: Some("22:00-06:00".to_owned()),
        zone: None,
        requests_per_day: Some(5_000),
        bytes_per_day: Some(1_000_000_000),
        delay: Some(Duration::from_secs(5)),
        delays: BTreeMap::from([("08:00-18:00".to_owned(), WishDelay(Duration::from_secs(30)))]),
        reason: "mail".to_owned(),
    };
    assert_eq!((pace.zone.as_str(), pace.wishes), ("Europe/Berlin", vec![expected]));
    for (text, expected) in [
        ("[pace]\nzone = \"Berlin\"\n", "c.toml:2: pace.zone: \"Berlin\" isn't a time zone"),
        ("[[pace.wishes]]\nhosts = [\"a.test\"]\n", "pace.wishes: a wish asks for nothing"),
        ("[[pace.wishes]]\nhosts = [\"a.test\"]\nhour = \"1\"\n", "unknown field `hour`"),
        ("[[pace.wishes]]\nhosts = [\"a.test\"]\nhours = \"6-8\"\n", "isn't a range of hours"),
    ] {
        let message = message(with_file(text));
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn every_key_of_the_polite_file_says_why() {
    let text = std::fs::read_to_string(polite()).unwrap();
    let mut before = "";
    for line in text.lines() {
        let is_key = line
            .split_once(" = ")
            .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        assert!(!is_key || before.starts_with("# "), "{line:?} has no comment above it");
        before = line;
    }
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let duration = || (0u64..31_000_000_000).prop_map(Duration::from_millis);
    let limit = || prop::option::of(1..u64::MAX);
    let word = "[a-zA-Z0-9 \\\\\"'#\u{e4}/=.-]{0,12}";
    let pace = (duration(), duration(), 0.0..1000.0, duration(), 1usize..65_536);
    let limits = (
        limit(),
        limit(),
        prop::option::of(any::<u32>()),
        prop::option::of(1u64..31_000_000),
        limit(),
        1u64..(1 << 40),
    );
    let scope = (0..4usize, prop::collection::vec("[a-z\\\\./\"]{1,9}", 0..3), any::<bool>());
    let resolve =
        prop::collection::vec(("[a-z]{1,8}\\.test", any::<IpAddr>(), prop::option::of(1u16..)), 0..3);
    let extract = prop::collection::vec((word, prop::option::of("[a-z]{1,6}"), any::<bool>()), 0..3);
    let agent = (
        "[a-zA-Z]{1,9}/[0-9.]{1,5}",
        prop::collection::vec("[a-z]{1,9}@[a-z]{1,9}\\.test", 0..3),
        prop::collection::vec("[a-z-]{1,9}", 0..3),
    );
    (agent, pace, limits, scope, resolve, extract, word).prop_map(
        |(agent, pace, limits, scope, resolve, extract, out)| {
            let (max_pages, max_pages_per_host, max_depth, max_time, max_bytes, max_body) = limits;
            let rule = |(index, (selector, attribute, all))| ExtractRule {
                name: format!("field {index}"),
                selector,
                attribute,
                all,
            };
            let modes = [ScopeMode::Host, ScopeMode::Domain, ScopeMode::Prefix, ScopeMode::Any];
            Settings {
                out: out.into(),
                agent: AgentSettings {
                    product: agent.0,
                    contact: agent.1.into_iter().map(Contact::Email).collect(),
                    aliases: agent.2,
                },
                pace: PaceSettings {
                    delay: pace.0,
                    max_delay: pace.1,
                    adaptive: pace.2,
                    max_crawl_delay: pace.3,
                    max_wait: pace.1,
                    max_backoff: pace.3,
                    concurrency: pace.4,
                    groups: GroupBy::Address,
                    per_ip: true,
                    max_rate: max_depth.map(|most| f64::from(most.max(1)) / 8.0),
                    max_bandwidth: max_bytes,
                    group: vec![HostList { name: "a".to_owned(), hosts: vec!["*.a.test".to_owned()] }],
                    zone: "Europe/Berlin".to_owned(),
                    wishes: vec![WishSettings {
                        hosts: vec!["*.a.test".to_owned()],
                        hours: scope.2.then(|| "22:00-06:00".to_owned()),
                        zone: scope.2.then(|| "UTC".to_owned()),
                        requests_per_day: max_pages,
                        bytes_per_day: max_bytes,
                        delay: Some(pace.0),
                        delays: BTreeMap::from([("08:00-18:00".to_owned(), WishDelay(pace.1))]),
                        reason: "mail of 3 November".to_owned(),
                    }],
                },
                robots: RobotsSettings {
                    dialect: Dialect::Strictest,
                    on_forbidden: OnForbidden::Rfc9309,
                    on_later_denial: LaterDenial::Withdraw,
                },
                consent: ConsentSettings {
                    purpose: vec![Purpose::Tdm, Purpose::AiTrainImages],
                    silence_allows: vec![Purpose::Tdm],
                    ai_block_hint: true,
                },
                scope: ScopeSettings {
                    mode: modes[scope.0],
                    include: scope.1.clone(),
                    exclude: scope.1,
                    resources: scope.2,
                    resource_hosts: if scope.2 { ResourceHosts::Domain } else { ResourceHosts::Any },
                    types: vec!["text/*".to_owned()],
                    sitemaps: !scope.2,
                    follow_moved_seeds: scope.2,
                },
                limits: LimitSettings {
                    max_pages,
                    max_pages_per_host,
                    max_resources: max_pages,
                    max_media: max_bytes,
                    max_depth,
                    max_time: max_time.map(Duration::from_secs),
                    max_bytes,
                    max_body,
                    ..LimitSettings::default()
                },
                fetch: FetchSettings {
                    resolve: resolve
                        .into_iter()
                        .map(|(host, addr, port)| ResolveRule { host, addr, port })
                        .collect(),
                    allow_net: vec!["10.0.0.0/8".parse().unwrap()],
                    dns: vec!["127.0.0.1:5353".parse().unwrap()],
                    ..FetchSettings::default()
                },
                warc: WarcSettings {
                    enabled: false,
                    max_file_size: max_body,
                    dedup: match scope.0 {
                        0 => WarcDedup::Off,
                        1 => WarcDedup::Crawl,
                        _ => WarcDedup::Earlier(vec!["/crawls/spring".into(), "/crawls/autumn".into()]),
                    },
                },
                costly: CostlySettings {
                    action: CostlyAction::Keep,
                    session: Session::Keep,
                    directory: "/kinds".into(),
                    classes: [(Class::Diff, Mode::Budget)].into(),
                    kinds: [("trac".to_owned(), Mode::Skip)].into(),
                    hosts: [("a.test".to_owned(), Mode::Keep)].into(),
                },
                extract: extract.into_iter().enumerate().map(rule).collect(),
                ..Settings::default()
            }
        },
    )
}

proptest! {
    #[test]
    fn settings_survive_their_file(settings in any_settings(), seeds in prop::collection::vec("http://[a-z]{1,9}\\.test/", 0..4)) {
        let unusable = vec![BadLine { line_no: 3, text: "ftp://a.test/".to_owned(), why: "has a \"scheme\"".to_owned() }];
        let record = Record {
            program: "crawl 1.2.3".into(),
            started: jiff::Timestamp::UNIX_EPOCH,
            seeds,
            unusable_seeds: 7,
            unusable,
        };
        let text = to_toml(&settings, &record).unwrap();
        let layer = file::parse(&text, "crawl.toml").unwrap();
        prop_assert_eq!(&layer.settings, &settings);
        let listed = KEYS.iter().filter(|key| key.path != "extract" || !settings.extract.is_empty());
        prop_assert!(listed.into_iter().all(|key| layer.lines.contains_key(key.path)));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("crawl.toml");
        std::fs::write(&path, text).unwrap();
        prop_assert_eq!(read_record(&path).unwrap(), record);
    }

    #[test]
    fn no_text_breaks_the_reader(text in "(\\[|\\]|pace|extract|delay|agent|=|\"1s\"|\n|\\.|1|\\{|\\}|,|#|\\PC){0,30}") {
        if let Err(error) = file::parse(&text, "c.toml") {
            prop_assert!(error.to_string().starts_with("c.toml"));
        }
    }
}

#[test]
fn a_pattern_of_file_names_is_answered_with_the_regular_expression() {
    for (pattern, regex) in [
        ("*.pdf", Some(r"\.pdf$")),
        ("*/print/*", Some("/print/")),
        ("*.jp?g", Some(r"\.jp.g$")),
        ("*a*b", Some("a.*b$")),
        ("(", None),
    ] {
        let mut overrides = CliOverrides::default();
        overrides.set("scope.exclude", vec![pattern.to_owned()]);
        let error = load(&overrides, [], None).unwrap_err().to_string();
        let hint = error.split_once("it is the regular expression ").map(|(_, hint)| hint);
        assert_eq!(hint, regex, "{error}");
        if let Some(regex) = regex {
            overrides.set("scope.exclude", vec![regex.to_owned()]);
            assert!(load(&overrides, [], None).is_ok(), "{regex}");
        }
    }
}
