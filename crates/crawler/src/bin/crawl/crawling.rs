//! What `run` and `resume` share: progress, the summary at the end, the exit code.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crawler::causes::with_causes;
use crawler::engine::{End, Listener, Steer, Stop as Request};
use crawler::event::{CrawlEvent, Progress};
use crawler::job::{Finished, Job, JobError};
use crawler::live::{self, Answer, Order};
use crawler::record::{Decision, in_words};
use crawler::view::{self, Status};
use page::clean::clean;
use page::quantity::{count, size};
use tokio::sync::{mpsc, oneshot, watch};

use crate::exit::{self, Stop};
use crate::progress::Display;
use crate::screen::Screen;
use crate::signals;
use crate::terminal::Console;

/// Hosts that aren't complete and are named at the end.
const HOSTS_NAMED: usize = 10;

/// Crawls, and gives the exit code.
pub(crate) fn crawl(job: Job, console: Console) -> anyhow::Result<i32> {
    let out = job.dir().root().to_owned();
    let log = job.dir().log().map_err(|error| with_exit_code(&error.into()))?;
    let screen = Screen::start(Display::new(console), console)?;
    let shown = screen.clone();
    crate::logging::start_on(console, Some(log), move || shown.clone());
    let (ask, asked) = watch::channel(Request::No);
    let shown = screen.clone();
    signals::listen(ask.clone(), move |words, typed| shown.stopping(words, typed))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let finished = runtime.block_on(async {
        let (orders, ordered) = mpsc::unbounded_channel();
        let control = Arc::new(Control { ask, orders, progress: Mutex::default(), screen: screen.clone() });
        let listener = listener(screen.clone(), Arc::clone(&control), console);
        // On a thread of the runtime: there a visit that ends wakes the crawl without the system's help.
        let running = tokio::spawn(job.with_control(control, ordered).run(asked, listener));
        let result = running.await.unwrap_or_else(|_| Err(JobError::Panicked));
        result.map_err(|error| with_exit_code(&error))
    });
    screen.finish();
    // What still runs on blocking threads holds nothing that has to be saved.
    runtime.shutdown_background();
    let finished = finished?;
    print_summary(&finished, &out, console)?;
    Ok(code(&finished))
}

/// Converts an error of the library to one with an exit code and a hint.
pub(crate) fn with_exit_code(error: &JobError) -> anyhow::Error {
    use crawler::job::DirError;
    let code = match error {
        JobError::Dir(
            DirError::HoldsCrawl(_)
            | DirError::OtherRules { .. }
            | DirError::NoSettings(_)
            | DirError::NoCrawl(_)
            | DirError::Moved { .. }
            | DirError::ArchiveOfCrawl { .. }
            | DirError::ArchiveIsOwn(_),
        )
        | JobError::Pattern(_) => exit::USAGE,
        JobError::Selector(_) | JobError::Config(_) | JobError::Earlier(_) => exit::CONFIG,
        JobError::Dir(_)
        | JobError::View(_)
        | JobError::Store(_)
        | JobError::Commit(_)
        | JobError::Scrub { .. }
        | JobError::Cdxj(_)
        | JobError::Index { .. }
        | JobError::Format(_) => exit::STORAGE,
        #[cfg(feature = "search")]
        JobError::Search(_) => exit::STORAGE,
        _ => exit::UNEXPECTED,
    };
    let mut what = with_causes(error);
    what.push_str(advice(error));
    Stop::new(code, what).into()
}

/// The hint for a disk error whose message has none.
fn advice(error: &(dyn std::error::Error + 'static)) -> &'static str {
    use crawler::{commit::CommitError, store::StoreError, warc};
    let causes = || std::iter::successors(Some(error), |error| error.source());
    let short = |cause: &(dyn std::error::Error + 'static)| {
        matches!(
            cause.downcast_ref::<warc::Error>(),
            Some(warc::Error::Short { .. } | warc::Error::Record { .. } | warc::Error::Name(_))
        )
    };
    let refused = |cause: &(dyn std::error::Error + 'static)| {
        let store = cause.downcast_ref::<StoreError>();
        cause.is::<io::Error>() || matches!(store, Some(StoreError::Io { .. } | StoreError::Stopped))
    };
    if causes().any(short) {
        "; the archive is damaged: run `crawl repair DIR --out NEWDIR` to save what can be read"
    } else if matches!(
        error.downcast_ref::<JobError>(),
        Some(JobError::Commit(CommitError::Store(_) | CommitError::Warc(_)))
    ) && causes().any(refused)
    {
        "; everything counted is stored, and `crawl resume` continues once this is fixed"
    } else {
        ""
    }
}

/// Takes the orders of `crawl status`, `stop`, `pause`, `continue` and `set`.
struct Control {
    ask: watch::Sender<Request>,
    orders: mpsc::UnboundedSender<Steer>,
    /// The latest; none before the first.
    progress: Mutex<Option<Progress>>,
    screen: Screen,
}

impl Control {
    fn status(&self) -> Answer {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(progress) = &*progress else {
            let starting = serde_json::json!({
                "v": 1, "state": "starting", "pid": std::process::id(), "elapsed_s": 0.0, "totals": {},
            });
            return Answer::Done(starting.to_string());
        };
        let mut object = crate::progress::object(progress);
        let is_stopping = *self.ask.borrow() != Request::No;
        let state = match progress.paused {
            _ if is_stopping => "stopping",
            true => "paused",
            false => "running",
        };
        let longest = progress.longest.iter().map(|host| {
            let (needs, next) = (host.needs.as_secs_f64(), host.remaining.as_secs_f64());
            let why = host.why.as_str();
            serde_json::json!({"host": host.host, "queued": host.queued, "needs_s": needs, "next_s": next, "why": why})
        });
        object["longest"] = longest.collect();
        object["event"] = "status".into();
        object["state"] = state.into();
        object["pid"] = std::process::id().into();
        object["eta"] = crate::progress::eta(progress).into();
        object["hosts_paused"] = progress.hosts_paused.into();
        Answer::Done(object.to_string())
    }

    /// Hands an order to the engine; none where the crawl has ended already.
    fn hand_on(&self, order: Order, uid: u32) -> Option<Answer> {
        let (reply, answer) = oneshot::channel();
        self.orders.send((order, uid, reply)).ok()?;
        answer.blocking_recv().ok()
    }
}

impl live::Control for Control {
    fn order(&self, order: Order, uid: u32) -> Answer {
        match order {
            Order::Status => self.status(),
            Order::Stop { now } => {
                let words = if now { "stopping at once" } else { "stopping after the requests in flight" };
                let said = format!("{words}: `crawl stop` by user {uid}");
                self.screen.stopping(&said, false);
                // Entered first. A stop at once isn't waited for: the engine takes the order when it sees the request.
                let answer = if now {
                    let (reply, _) = oneshot::channel();
                    drop(self.orders.send((order, uid, reply)));
                    None
                } else {
                    self.hand_on(order, uid)
                };
                let request = if now { Request::Now } else { Request::Drain };
                self.ask.send_modify(|asked| *asked = request.max(*asked));
                answer.unwrap_or_else(|| Answer::Done(words.to_owned()))
            }
            Order::Steer { .. } | Order::Wish(_) => {
                let ended = || Answer::Refused("the crawl is ending".to_owned());
                self.hand_on(order, uid).unwrap_or_else(ended)
            }
        }
    }
}

/// A decision on one line: what, about which URL, and why.
fn decided(decision: &Decision) -> String {
    let about = if decision.url.is_empty() { "the crawl" } else { &decision.url };
    let evidence = decision.evidence.to_string();
    let evidence = if evidence.is_empty() { evidence } else { format!(": {evidence}") };
    let (what, why) = (decision.decision.as_str().replace('_', " "), in_words(&decision.reason.as_str()));
    format!("{what}  {about}  ({}, {why}{evidence})", decision.layer)
}

fn listener(screen: Screen, control: Arc<Control>, console: Console) -> Listener {
    Box::new(move |event| match event {
        CrawlEvent::Progress(progress) => {
            *control.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress.clone());
            screen.update(&progress);
        }
        CrawlEvent::Decided(decision) => {
            if console.verbose > 1 {
                screen.line(decided(decision));
            }
            tracing::debug!(
                target: crate::logging::DECISIONS,
                url = decision.url,
                layer = ?decision.layer,
                reason = %decision.reason,
                evidence = %decision.evidence,
                "{}",
                decision.decision
            );
        }
        CrawlEvent::Page { url, status } => {
            // With every decision this one is among them.
            if console.verbose == 1 {
                screen.line(format!("{status}  {url}"));
            }
            tracing::debug!(target: crate::logging::DECISIONS, url, status, "visited");
        }
        _ => {}
    })
}

fn code(finished: &Finished) -> i32 {
    match &finished.summary.end {
        End::Forced => exit::FORCED,
        End::Interrupted => exit::INTERRUPTED,
        End::Limit(_) => exit::LIMIT,
        End::Complete if finished.summary.totals.pages == 0 => exit::NO_SEED,
        End::Complete => match status(finished) {
            Status::Complete => exit::COMPLETE,
            Status::CompleteWithinLimits => exit::LIMIT,
            // Another run would meet the same walls, but for the hosts that were skipped.
            Status::CompleteExceptWalls if finished.summary.queued == 0 => exit::COMPLETE,
            Status::CompleteExceptWalls | Status::Incomplete => exit::REMAINING,
        },
    }
}

/// The coverage of the crawl; incomplete if it wasn't counted.
fn status(finished: &Finished) -> Status {
    finished.account.as_ref().map_or(Status::Incomplete, |account| account.status)
}

fn print_summary(finished: &Finished, out: &Path, console: Console) -> anyhow::Result<()> {
    let Finished { summary, account } = finished;
    // URLs, each counted once; the counters of the run count visits.
    let totals = account.as_ref().map_or(summary.totals, |account| account.totals);
    let out = clean(&out.display().to_string()).into_owned();
    let end = match &summary.end {
        End::Complete if totals.pages == 0 => "no seed could be crawled".to_owned(),
        End::Complete => status(finished).words().to_owned(),
        End::Limit(limit) => format!("limit reached: {limit}"),
        End::Interrupted => "interrupted".to_owned(),
        End::Forced => "stopped at once".to_owned(),
    };
    tracing::info!(end, pages = totals.pages, queued = summary.queued, "run ended");
    let mut stdout = io::stdout().lock();
    if console.json {
        let remaining: Vec<_> = summary
            .remaining
            .iter()
            .map(|(host, reason, queued)| serde_json::json!({"host": host, "reason": reason, "queued": queued}))
            .collect();
        let mut line = serde_json::json!({
            "v": 1, "event": "summary", "end": end, "status": status(finished), "exit_code": code(finished), "dir": out,
            "totals": totals, "queued": summary.queued, "remaining": remaining, "remaining_hosts": summary.remaining_hosts,
        });
        if let Some(head) = account.as_ref().and_then(|account| account.head) {
            line["head"] = head.to_string().into();
        }
        if let Some(account) = account.as_ref().filter(|account| !account.unfetched_seeds.is_empty()) {
            line["seeds"] = serde_json::to_value(&account.unfetched_seeds)?;
        }
        if let Some(notes) = account.as_ref().map(view::Summary::notes).filter(|notes| !notes.is_empty()) {
            line["notes"] = notes.into();
        }
        if account.is_none() {
            // While the crawl runs, decisions are counted, not URLs.
            line["totals"]["skipped"] = serde_json::Value::Null;
        }
        writeln!(stdout, "{line}")?;
        return Ok(());
    }
    if console.quiet {
        return Ok(());
    }
    let skipped = account.as_ref().map(|_| format!(", {} skipped", totals.skipped)).unwrap_or_default();
    let resources = match totals.resources {
        0 => String::new(),
        many => format!(", {}", count(many, "resource")),
    };
    let mut text = Vec::new();
    writeln!(
        text,
        "{end}: {}{resources}, {}, {} failed{skipped}; {}, {}",
        count(totals.pages, "page"),
        count(totals.redirects, "redirect"),
        totals.failed,
        count(totals.requests, "request"),
        size(totals.bytes)
    )?;
    if let Some(account) = account {
        for seed in &account.unfetched_seeds {
            writeln!(text, "  {}: {}", clean(&seed.url), clean(&seed.answer))?;
        }
        match account.seeds.len().saturating_sub(account.unfetched_seeds.len()) {
            more if more > 0 && totals.pages == 0 => {
                writeln!(text, "  and {}: see `crawl explain {out} URL`", count(more as u64, "more seed"))?;
            }
            _ => {}
        }
        print_incomplete(account, &mut text)?;
        for note in account.notes() {
            writeln!(text, "  {}", clean(&note))?;
        }
    }
    if summary.queued > 0 {
        let are = if summary.queued == 1 { "is" } else { "are" };
        let urls = count(summary.queued, "URL");
        writeln!(text, "{urls} {are} still queued; continue with: crawl resume {out}")?;
    }
    if let Some(head) = account.as_ref().and_then(|account| account.head) {
        writeln!(text, "head of the ledger: {head}")?;
    }
    writeln!(text, "show the results with: crawl show {out}")?;
    let text = String::from_utf8_lossy(&text);
    if stdout.is_terminal() {
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| width.0.into());
        stdout.write_all(crate::progress::wrapped(&text, width).as_bytes())?;
    } else {
        stdout.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Lists incomplete hosts, kinds of errors, and the number of unusable lines of the seed file.
fn print_incomplete(account: &view::Summary, out: &mut impl Write) -> io::Result<()> {
    let lacking = account.hosts.iter().filter(|host| host.coverage != Status::Complete);
    for host in lacking.take(HOSTS_NAMED) {
        writeln!(out, "  {} is {}", clean(&host.host), clean(&host.because))?;
    }
    let lacking =
        account.hosts_incomplete + account.hosts_complete_except_walls + account.hosts_complete_within_limits;
    match lacking.saturating_sub(HOSTS_NAMED as u64) {
        0 => {}
        more => writeln!(out, "  ... and {more} more not complete")?,
    }
    if !account.errors.is_empty() {
        let kinds: Vec<_> = account.errors.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        writeln!(out, "  failed: {}", clean(&kinds.join(", ")))?;
    }
    match account.unusable_seeds {
        0 => Ok(()),
        many => writeln!(out, "  {} of the seed file can't be crawled", count(many, "line")),
    }
}
