//! `crawl status`, `stop`, `pause`, `continue` and `set`: a running crawl, through its own process.

use std::cmp::Reverse;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use clap::Args;
use crawler::config::units;
use crawler::crawl_dir::{CrawlDir, DirError, refuse_links};
use crawler::live::{self, Answer, LiveError, Order, Steered};
use crawler::pace::DelayReason;
use crawler::wishes::{UTC, WishDelay, WishSettings, Wishes};
use page::clean::clean;
use page::quantity::{count, size};
use serde::Serialize;
use serde_json::Value;

use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::reading::ReadingArgs;
use crate::show;
use crate::terminal::Console;

/// Time between two looks of `status --watch`.
const WATCH_EVERY: Duration = Duration::from_secs(2);

/// Options of `status`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  crawl status crawl-data
  crawl status crawl-data --watch
  crawl status crawl-data --json | jq .state")]
pub(crate) struct StatusArgs {
    /// Directory of the crawl
    dir: PathBuf,
    /// Repeat every 2 seconds until the crawl ends
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Options of `stop`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
As Ctrl-C: requests in flight are finished. Returns once the crawl has ended; `crawl resume`
continues it. Exit code 0 also if no crawl runs in the directory.

Examples:
  crawl stop crawl-data
  crawl stop crawl-data --now")]
pub(crate) struct StopArgs {
    /// Directory of the crawl
    dir: PathBuf,
    /// Abort the requests in flight, as a second Ctrl-C does
    #[arg(long)]
    now: bool,
}

/// Options of `pause` and `continue`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
A pause lasts until `crawl continue`, also across `crawl resume`. The crawl, its hosts and its
limits of time go on as before; a paused host gets no requests, robots.txt included. A host that
is paused by --host needs `crawl continue --host`.

Examples:
  crawl pause crawl-data
  crawl pause crawl-data --host www.example.org
  crawl continue crawl-data --host www.example.org")]
pub(crate) struct PauseArgs {
    /// Directory of the crawl
    dir: PathBuf,
    /// Only this host
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
}

/// Options of `set`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
delay=DURATION: minimum delay between requests to a host. It can only be longer than the crawl's
--delay, and than what the host itself asks for; it applies from the next request on, and across
`crawl resume`. A delay that was set before can be shortened down to these.

With --reason, or with other keys, it is what the owner of the host asked for, in place of what was
set for --host before: hours=HH:MM-HH:MM zone=ZONE requests_per_day=NUMBER bytes_per_day=SIZE
delay=DURATION delay@HH:MM-HH:MM=DURATION. The host may be *.NAME. wish=none ends it. For a
crawl that is stopped the wish is added to its crawl.toml. See docs/how-to/wishes.md.

Examples:
  crawl set crawl-data delay=5s
  crawl set crawl-data delay=2s --host www.example.org
  crawl set crawl-data hours=22:00-06:00 zone=Europe/Berlin requests_per_day=5000 \\
    --host www.example.org --reason 'mail of the administrator, 2026-11-03'")]
pub(crate) struct SetArgs {
    /// Directory of the crawl
    dir: PathBuf,
    /// What to change
    #[arg(value_name = "KEY=VALUE", required = true, value_parser = pair)]
    settings: Vec<(String, String)>,
    /// Only this host
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Who asked for it, when and how
    #[arg(long, value_name = "TEXT", requires = "host")]
    reason: Option<String>,
}

/// Reads `hours=22:00-06:00`.
fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.rsplit_once('=').ok_or("write KEY=VALUE, as in delay=2s")?;
    let is_known = |key: &str| {
        let name = key.split('@').next().unwrap_or_default();
        (key == name || name == "delay") && WISHED.contains(&name)
    };
    let (name, hours) = key.split_once('@').map_or((key, None), |(name, hours)| (name, Some(hours)));
    let name = name.replace('-', "_");
    let key = hours.map_or_else(|| name.clone(), |hours| format!("{name}@{hours}"));
    if is_known(&key) {
        return Ok((key, value.to_owned()));
    }
    Err(ONLY_THESE.to_owned())
}

/// What the owner of a host may ask for, and `wish=none`.
const WISHED: [&str; 6] = ["hours", "zone", "requests_per_day", "bytes_per_day", "delay", "wish"];

/// Why no other key can be set.
const ONLY_THESE: &str = "only the delay can be changed while a crawl runs (delay=2s), and what the owner of a host asked for; for other settings, stop the crawl and resume it with them";

/// What the owner of a host asked for.
fn wish(settings: &[(String, String)], host: &str, reason: Option<&str>) -> Result<WishSettings, String> {
    let reason = reason.unwrap_or_default().to_owned();
    let mut wish = WishSettings { hosts: vec![host.to_owned()], reason, ..WishSettings::default() };
    for (key, value) in settings {
        let of_value = |error: String| format!("{key}={value}: {error}");
        let duration = || units::parse_duration(value).map_err(|error| of_value(error.to_string()));
        match key.as_str() {
            "hours" => wish.hours = Some(value.clone()),
            "zone" => wish.zone = Some(value.clone()),
            "requests_per_day" => {
                let number = value.parse().map_err(|_| of_value("isn't a number".to_owned()))?;
                wish.requests_per_day = Some(number);
            }
            "bytes_per_day" => {
                let size = units::parse_size(value).map_err(|error| of_value(error.to_string()))?;
                wish.bytes_per_day = Some(size);
            }
            "delay" => wish.delay = Some(duration()?),
            "wish" if value == "none" && settings.len() == 1 => {}
            key => match key.strip_prefix("delay@") {
                Some(hours) => drop(wish.delays.insert(hours.to_owned(), WishDelay(duration()?))),
                None => return Err(of_value("write wish=none alone to end what was set".to_owned())),
            },
        }
    }
    Ok(wish)
}

/// Reads `delay=2s`.
pub(crate) fn setting(text: &str) -> Result<Duration, String> {
    let Some(value) = text.strip_prefix("delay=") else {
        let what = "only the delay can be changed while a crawl runs: delay=2s; for other settings, stop the crawl and resume it with them";
        return Err(what.to_owned());
    };
    units::parse_duration(value).map_err(|error| error.to_string())
}

/// Gives an order to the crawl that runs in a directory; none runs there otherwise.
fn give(dir: &Path, order: Order, until_end: bool) -> anyhow::Result<Option<String>> {
    refuse_links(dir).map_err(|error| Stop::new(exit::STORAGE, crawler::causes::with_causes(&error)))?;
    exit::expect_crawl(dir)?;
    match live::give(dir, order, until_end) {
        Ok(Some(Answer::Done(what))) => Ok(Some(what)),
        Ok(Some(Answer::Refused(why))) => Err(Stop::new(exit::USAGE, clean(&why).into_owned()).into()),
        Ok(None) => Ok(None),
        Err(error @ LiveError::Refused { .. }) => Err(Stop::new(exit::STORAGE, error.to_string()).into()),
        Err(error) => Err(Stop::new(exit::STORAGE, crawler::causes::with_causes(&error)).into()),
    }
}

fn not_running(dir: &Path) -> String {
    let dir = path_text(dir);
    format!("no crawl runs in {dir}; `crawl resume {dir}` continues it")
}

/// Stops a running crawl, and waits for its end.
pub(crate) fn stop(args: &StopArgs, console: Console) -> anyhow::Result<i32> {
    match give(&args.dir, Order::Stop { now: args.now }, true)? {
        Some(_) => console.note(&format!("the crawl in {} has ended", path_text(&args.dir))),
        None => console.note(&not_running(&args.dir)),
    }
    Ok(exit::COMPLETE)
}

/// Pauses a crawl, or one of its hosts.
pub(crate) fn pause(args: &PauseArgs, console: Console) -> anyhow::Result<i32> {
    steer(&args.dir, args.host.clone(), Steered::Pause, console)
}

/// Ends a pause.
pub(crate) fn carry_on(args: &PauseArgs, console: Console) -> anyhow::Result<i32> {
    steer(&args.dir, args.host.clone(), Steered::Continue, console)
}

/// Sets a longer delay, or what the owner of a host asked for.
pub(crate) fn set(args: &SetArgs, console: Console) -> anyhow::Result<i32> {
    let usage = |why: String| Stop::new(exit::USAGE, why);
    if let ([(key, value)], None) = (&args.settings[..], &args.reason)
        && key == "delay"
    {
        let length = setting(&format!("delay={value}")).map_err(usage)?;
        return steer(&args.dir, args.host.clone(), Steered::Delay(length), console);
    }
    let Some(host) = &args.host else {
        return Err(usage("what an owner asked for is about a host: add --host HOST".to_owned()).into());
    };
    let wish = wish(&args.settings, host, args.reason.as_deref()).map_err(usage)?;
    if !wish.asks_for_nothing() {
        let zone = wish.zone.as_deref().unwrap_or(UTC);
        Wishes::read(std::slice::from_ref(&wish), zone).map_err(|error| usage(error.to_string()))?;
    }
    let dir = path_text(&args.dir);
    match give(&args.dir, Order::Wish(serde_json::to_string(&wish)?), false)? {
        Some(what) => console.note(&what),
        None if wish.asks_for_nothing() => {
            let why = format!("no crawl runs in {dir}: take the wish out of pace.wishes in its crawl.toml");
            return Err(usage(why).into());
        }
        None => {
            enter(&args.dir, &wish)?;
            console
                .note(&format!("added to pace.wishes in the crawl.toml of {dir}, for `crawl resume {dir}`"));
        }
    }
    Ok(exit::COMPLETE)
}

/// Enters a wish in the settings of a crawl that is stopped.
fn enter(dir: &Path, wish: &WishSettings) -> anyhow::Result<()> {
    let storage = |error: &DirError| Stop::new(exit::STORAGE, crawler::causes::with_causes(error));
    let held = CrawlDir::open_to_continue(dir).map_err(|error| storage(&error))?;
    let path = held.settings();
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Stop::new(exit::STORAGE, format!("can't read {}: {error}", path_text(&path))))?;
    let entered = with_wish(&text, wish).ok_or_else(|| {
        let why = format!(
            "{} doesn't have its wishes in sections [[pace.wishes]]: add this one there",
            path_text(&path)
        );
        Stop::new(exit::USAGE, why)
    })?;
    Ok(held.write_settings(&entered).map_err(|error| storage(&error))?)
}

/// The text of settings with one more section `[[pace.wishes]]` at its end; none where they have their wishes in another form.
fn with_wish(text: &str, wish: &WishSettings) -> Option<String> {
    #[derive(Serialize)]
    struct Whole<'a> {
        pace: Pace<'a>,
    }
    #[derive(Serialize)]
    struct Pace<'a> {
        wishes: [&'a WishSettings; 1],
    }
    let section = toml::to_string(&Whole { pace: Pace { wishes: [wish] } }).ok()?;
    let count = |text: &str| {
        let whole: toml::Table = toml::from_str(text).ok()?;
        Some(whole.get("pace").and_then(|pace| pace.get("wishes")?.as_array()).map_or(0, Vec::len))
    };
    // No section may follow an empty list.
    let others: Vec<&str> = text.lines().filter(|line| line.trim() != "wishes = []").collect();
    let entered = format!("{}\n\n{section}", others.join("\n"));
    (count(&entered)? == count(text)? + 1).then_some(entered)
}

fn steer(dir: &Path, host: Option<String>, change: Steered, console: Console) -> anyhow::Result<i32> {
    match give(dir, Order::Steer { host, change }, false)? {
        Some(what) => {
            console.note(&what);
            Ok(exit::COMPLETE)
        }
        None => Err(Stop::new(exit::USAGE, not_running(dir)).into()),
    }
}

/// Describes a crawl, running or not.
pub(crate) fn status(args: &StatusArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let is_terminal = io::stdout().is_terminal();
    loop {
        let answer = give(&args.dir, Order::Status, false)?;
        let running = answer.as_deref().map(serde_json::from_str::<Value>).transpose()?;
        let goes_on = args.watch && running.is_some();
        let status = match running {
            Some(status) => status,
            None => stored(&args.dir, &args.reading)?,
        };
        let text = if console.json { format!("{status}\n") } else { words(&status, &path_text(&args.dir)) };
        // The screen is cleared, as `watch` does.
        let clear = if args.watch && is_terminal && !console.json { "\x1b[H\x1b[2J" } else { "" };
        exit::print(format!("{clear}{text}").as_bytes())?;
        if !goes_on {
            return Ok(exit::COMPLETE);
        }
        wait(WATCH_EVERY);
    }
}

#[expect(clippy::disallowed_methods, reason = "a person watches: this waits for no site")]
fn wait(time: Duration) {
    let (_never, pause) = channel::<()>();
    let _ended = pause.recv_timeout(time);
}

/// The status of a crawl that doesn't run, from its database.
fn stored(dir: &Path, reading: &ReadingArgs) -> anyhow::Result<Value> {
    let view = reading.open(dir)?;
    let summary = view.summary().map_err(|error| show::view_error(&error))?;
    Ok(summary.at_rest())
}

/// One screen.
fn words(status: &Value, dir: &str) -> String {
    let number = |key: &str| status[key].as_u64().unwrap_or_default();
    let total = |key: &str| status["totals"][key].as_u64().unwrap_or_default();
    let text = |value: &Value| clean(value.as_str().unwrap_or_default()).into_owned();
    let span = |value: &Value| {
        crate::progress::span(Duration::from_secs_f64(value.as_f64().unwrap_or_default().clamp(0.0, 1e9)))
    };
    let state = text(&status["state"]);
    let mut out = Vec::new();
    // Writing into memory doesn't fail.
    let mut line = |text: String| drop(writeln!(out, "{text}"));
    let since = match &status["elapsed_s"] {
        Value::Null => {
            let times = ["begun", "ended"].map(|what| (what, status[what].as_str()));
            let known = times.into_iter().filter_map(|(what, at)| Some(format!(", {what} {}", clean(at?))));
            known.collect()
        }
        elapsed => format!(" for {}, process {}", span(elapsed), number("pid")),
    };
    let limit = status["limit"].as_str().map(|limit| format!(", limit reached: {}", clean(limit)));
    line(format!("{state}{since}{}", limit.unwrap_or_default()));
    line(format!(
        "  {}, {}, {} failed; {}, {}",
        count(total("pages"), "page"),
        count(total("redirects"), "redirect"),
        total("failed"),
        count(total("requests"), "request"),
        size(total("bytes"))
    ));
    line(format!("  {} queued, {}", count(number("queued"), "URL"), count(number("hosts"), "host")));
    if status["elapsed_s"].is_null() {
        if state != "finished" {
            line(format!("  continue with: crawl resume {dir}"));
        }
        return String::from_utf8_lossy(&out).into_owned();
    }
    let rate = status["pages_per_second"].as_f64().unwrap_or_default();
    line(format!("  {rate:.1} pages/s, {} in flight, eta {}", number("in_flight"), text(&status["eta"])));
    if number("hosts_paused") > 0 {
        line(format!(
            "  {} paused: `crawl continue {dir} --host HOST`",
            count(number("hosts_paused"), "host")
        ));
    }
    if let Some(waiting) = status["waiting"].as_object().filter(|waiting| !waiting.is_empty()) {
        let mut waiting: Vec<(DelayReason, u64)> = waiting
            .iter()
            .filter_map(|(why, hosts)| Some((DelayReason::of_word(why)?, hosts.as_u64()?)))
            .collect();
        waiting.sort_by_key(|(_, hosts)| Reverse(*hosts));
        line(format!("  {}", crate::progress::waiting(&waiting)));
    }
    let hosts = status["longest"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !hosts.is_empty() {
        line(format!("\n  {:>8} {:>10} {:>10}  {:<22}  host", "queued", "needs", "next in", "because"));
    }
    for host in hosts {
        line(format!(
            "  {:>8} {:>10} {:>10}  {:<22}  {}",
            host["queued"].as_u64().unwrap_or_default(),
            span(&host["needs_s"]),
            span(&host["next_s"]),
            text(&host["why"]),
            text(&host["host"])
        ));
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_delay_can_be_set() {
        assert_eq!(setting("delay=1m30s"), Ok(Duration::from_secs(90)));
        for (text, expected) in
            [("delay=2", "isn't a duration"), ("max_pages=3", "only the delay"), ("delay", "only")]
        {
            assert!(setting(text).unwrap_err().contains(expected), "{text}");
        }
    }

    #[test]
    fn what_an_owner_asked_for_is_set_by_its_parts() {
        let parts =
            |texts: &[&str]| -> Result<Vec<_>, String> { texts.iter().map(|text| pair(text)).collect() };
        let all = [
            "hours=22:00-06:00",
            "zone=Europe/Berlin",
            "requests-per-day=5",
            "bytes_per_day=1MB",
            "delay=5s",
            "delay@08:00-18:00=30s",
        ];
        let expected = WishSettings {
            hosts: vec!["a.test".to_owned()],
            hours: Some("22:00-06:00".to_owned()),
            zone: Some("Europe/Berlin".to_owned()),
            requests_per_day: Some(5),
            bytes_per_day: Some(1_000_000),
            delay: Some(Duration::from_secs(5)),
            delays: [("08:00-18:00".to_owned(), WishDelay(Duration::from_secs(30)))].into(),
            reason: "mail".to_owned(),
        };
        assert_eq!(wish(&parts(&all).unwrap(), "a.test", Some("mail")), Ok(expected));
        assert!(wish(&parts(&["wish=none"]).unwrap(), "a.test", None).unwrap().asks_for_nothing());
        for texts in [&["max_pages=3"][..], &["hours@1=2"], &["hours"]] {
            assert!(parts(texts).is_err(), "{texts:?}");
        }
        for texts in [
            &["wish=none", "delay=1s"][..],
            &["wish=all"],
            &["requests_per_day=x"],
            &["delay@1=x", "zone=UTC"],
        ] {
            assert!(wish(&parts(texts).unwrap(), "a.test", None).is_err(), "{texts:?}");
        }
    }

    #[test]
    fn a_wish_for_a_crawl_that_is_stopped_is_a_section_of_its_settings() {
        let wish = WishSettings {
            hosts: vec!["a.test".to_owned()],
            hours: Some("22:00-06:00".to_owned()),
            delays: [("08:00-18:00".to_owned(), WishDelay(Duration::from_secs(30)))].into(),
            ..WishSettings::default()
        };
        let wishes = |text: &str| -> Vec<WishSettings> {
            let whole: toml::Table = toml::from_str(text).unwrap();
            whole["pace"]["wishes"].clone().try_into().unwrap()
        };
        let text = "[pace]\n# Comments stay.\ndelay = \"1s\"\nwishes = []\n\n[scope]\nmode = \"host\"\n";
        let once = with_wish(text, &wish).unwrap();
        assert_eq!(wishes(&once), std::slice::from_ref(&wish));
        assert!(once.starts_with("[pace]\n# Comments stay.\ndelay = \"1s\"\n\n[scope]"), "{once}");
        let twice = with_wish(&once, &wish).unwrap();
        assert_eq!(wishes(&twice), [wish.clone(), wish.clone()]);
        assert_eq!(wishes(&with_wish("", &wish).unwrap()), std::slice::from_ref(&wish));
        for text in ["[pace]\nwishes = [{ hosts = [\"a.test\"], hours = \"01:00-02:00\" }]\n", "[pace"] {
            assert_eq!(with_wish(text, &wish), None, "{text}");
        }
    }

    #[test]
    fn a_running_crawl_fits_a_screen_of_80_columns_and_steers_no_terminal() {
        let hosts: Vec<_> = (0..10)
            .map(|n| json!({"host": format!("www{n}.example.org\u{1b}[2J"), "queued": 12_345, "needs_s": 93_600.0, "next_s": 61.2, "why": "robots.txt unreachable"}))
            .collect();
        let status = json!({
            "v": 1, "state": "running", "pid": 4_194_303, "elapsed_s": 3_723.4, "totals": {"pages": 1_234_567, "bytes": 9_000_000_000_u64},
            "queued": 7_654_321, "hosts": 4321, "in_flight": 256, "pages_per_second": 512.34, "eta": "1d 02h", "hosts_paused": 2,
            "waiting": {"configured": 4000, "crawl-delay": 12}, "longest": hosts,
        });
        let text = words(&status, "crawl-data");
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains('\u{1b}') && text.contains("www9.example.org"), "{text}");
        assert!(text.starts_with("running for 1h 02m, process 4194303\n"), "{text}");
        assert!(text.contains("\n  4000 hosts wait for their delay, 12 for Crawl-delay\n"), "{text}");
    }
}
