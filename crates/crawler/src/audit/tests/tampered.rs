//! A crawl's output, changed in one way after the other: each change is reported, except those that can't be detected.

use std::io::Write as _;
use std::path::PathBuf;

use flate2::{Compression, GzBuilder};

use super::*;
use crate::ledger::{Head, Ledger};
use crate::record::LinkOutcome::{Pattern, Queued, RelNofollow};
use crate::record::{RobotsAccess, Seal, SiteFile, withhold_links};

/// The output that is changed.
pub(super) struct Output {
    top: tempfile::TempDir,
    pub(super) store: Arc<MemoryStore>,
    pub(super) rules: AuditRules,
}

const CLOSED: &str = "http://closed.test";
const BROKEN: &str = "http://broken.test";
const MISSING: &str = "http://missing.test";

impl Output {
    fn new() -> Self {
        let mut records = Records::kept();
        let rules = &mut records.robots[0];
        rules.headers = vec![header("content-type", "text/plain"), header("cache-control", "max-age=3600")];
        rules.expires = rules.fetched_at + SignedDuration::from_hours(1);
        let other = |origin: &str, status: u16, access: &str| {
            let mut record = robots_txt(0.2, "", access);
            origin.clone_into(&mut record.origin);
            record.status = Some(status);
            record
        };
        records.robots.push(other(CLOSED, 403, "deny_all"));
        records.robots.push(RobotsRecord {
            first_failure: Some(at(0.2).wall),
            failures: 1,
            ..other(BROKEN, 503, "defer")
        });
        records.robots.push(other(MISSING, 404, "allow_all"));
        records.robots[3].headers.push(header("age", "0"));
        let (front, links, _) = &mut records.pages[0];
        front.digest = Some("blake3:1".to_owned());
        links.push(LinkRecord { rel: "nofollow".to_owned(), nofollow: true, ..link("/rel", RelNofollow) });
        records.decisions.push(decision(
            at(3.1),
            &format!("{SITE}/rel"),
            "skipped",
            Layer::Directive,
            "rel".into(),
        ));
        // A page under noindex.
        let via = Via { host: HostId(0), page: print("/") };
        let mut hidden = page("/hidden", 9.0, Some(via));
        hidden.headers.push(header("x-robots-tag", "noindex"));
        hidden.withhold();
        hidden.archived = false;
        records.pages.push((hidden, Vec::new(), None));
        records.pages[0].1.push(link("/hidden", Queued));
        records.asked("/hidden", 9.0, 2.0);
        Self::of(records, rules_of_this())
    }

    pub(super) fn of(records: Records, rules: AuditRules) -> Self {
        let (top, store) = records.stored();
        Self { top, store, rules }
    }

    pub(super) fn judge(&self) -> Report {
        audit(&self.store, Some(self.top.path()), &self.rules).unwrap()
    }

    pub(super) fn put(&self, tree: Tree, key: impl AsRef<[u8]>, value: impl Into<Vec<u8>>) {
        self.store.commit(vec![Write::put(tree, key.as_ref().to_vec(), value.into())]).unwrap();
    }

    pub(super) fn remove(&self, tree: Tree, key: impl AsRef<[u8]>) {
        self.store.commit(vec![Write::remove(tree, key.as_ref().to_vec())]).unwrap();
    }

    /// Changes the version of an origin's robots.txt.
    fn robots(&self, origin: &str, change: impl FnOnce(&mut RobotsRecord)) {
        let (key, value) = self.store.last(Tree::Robots, &RobotsRecord::prefix(origin)).unwrap().unwrap();
        let mut record = RobotsRecord::read(&value).unwrap();
        change(&mut record);
        self.put(Tree::Robots, key, record.write().unwrap());
    }

    pub(super) fn page(&self, path: &str, change: impl FnOnce(&mut PageRecord, &mut Vec<LinkRecord>)) {
        rewrite(&self.store, |pages| {
            let page = pages.iter_mut().find(|(record, _)| record.url == format!("{SITE}{path}")).unwrap();
            change(&mut page.0, &mut page.1);
        });
    }

    fn archive(&self) -> PathBuf {
        let mut files = std::fs::read_dir(self.top.path()).unwrap().map(|entry| entry.unwrap().path());
        files.find(|path| path.to_string_lossy().ends_with(".warc.gz")).unwrap()
    }

    /// Appends to the archive's file.
    fn append(&self, bytes: &[u8]) {
        let mut file = std::fs::OpenOptions::new().append(true).open(self.archive()).unwrap();
        file.write_all(bytes).unwrap();
    }

    /// Exchanges the last capture, that of `/b`, for another; the page's record names the new place.
    fn capture(&self, body: &str) {
        let place = self.place("/b");
        let mut bytes = std::fs::read(self.archive()).unwrap();
        bytes.truncate(usize::try_from(place.offset).unwrap());
        let encoded = captured(&format!("{SITE}/b"), body);
        bytes.extend(&encoded.bytes);
        std::fs::write(self.archive(), bytes).unwrap();
        if encoded.response_length != place.length {
            self.page("/b", |record, _| {
                record.warc = Some(Archived { length: encoded.response_length, ..place });
            });
        }
    }

    fn place(&self, path: &str) -> Archived {
        let url = format!("{SITE}{path}");
        let pages = scan_with_links(&*self.store).map(|page| page.unwrap().record().unwrap());
        pages.into_iter().find(|record| record.url == url).unwrap().warc.unwrap()
    }

    fn entries(&self) -> Vec<Decision> {
        let values = self.store.scan(Tree::Ledger, &[]).map(|pair| pair.unwrap().1);
        values.flat_map(|value| crate::ledger::read(&value).unwrap().decisions).collect()
    }

    /// Rewrites the whole ledger, with a valid chain.
    pub(super) fn rewrite_ledger(&self, change: impl FnOnce(&mut Vec<Decision>)) {
        let mut entries = self.entries();
        change(&mut entries);
        let old: Vec<_> = self.store.scan(Tree::Ledger, &[]).map(|pair| pair.unwrap().0).collect();
        let mut writes: Vec<_> = old.into_iter().map(|key| Write::remove(Tree::Ledger, key)).collect();
        writes.push(Write::remove(Tree::Meta, "ledger"));
        self.store.commit(writes).unwrap();
        let writes = Ledger::open(&*self.store).unwrap().append(entries).unwrap();
        self.store.commit(writes).unwrap();
    }

    /// Changes an entry in its value, without a new chain.
    fn entry(&self, change: impl FnOnce(&mut Vec<Decision>)) {
        let head = self.head();
        let state = self.store.get(Tree::Meta, b"ledger").unwrap().unwrap();
        self.rewrite_ledger(change);
        assert_ne!(self.head(), head);
        self.put(Tree::Meta, "ledger", state);
    }

    fn head(&self) -> Head {
        crate::ledger::head(&*self.store).unwrap().unwrap()
    }
}

fn rules_of_this() -> AuditRules {
    let settings = settings();
    AuditRules { settings, ..rules() }
}

fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn captured(url: &str, body: &str) -> crate::warc::Encoded {
    encode(&Exchange {
        headers: &[("content-type".to_owned(), b"text/html".to_vec())],
        ..Exchange::example(url, body.as_bytes(), at(6.0).wall)
    })
}

/// A record of another kind, whole and with its length.
fn member(kind: &str, url: &str, block: &str) -> Vec<u8> {
    padded(kind, url, block, 0)
}

/// The same with a comment of some bytes in the header of the gzip member, and a zero behind it.
fn padded(kind: &str, url: &str, block: &str, padding: usize) -> Vec<u8> {
    let head = format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000000>\r\n\
         WARC-Date: 2026-01-01T12:00:06Z\r\nWARC-Target-URI: {url}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
        block.len()
    );
    let comment = vec![b' '; padding];
    let builder = GzBuilder::new();
    let builder = if padding > 0 { builder.comment(comment) } else { builder };
    let mut encoder = builder.write(Vec::new(), Compression::best());
    encoder.write_all(format!("{head}{block}\r\n\r\n").as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn permissive(record: &mut RobotsRecord) {
    record.body = None;
    record.set_body(b"User-agent: *\nAllow: /\n");
}

pub(super) type Tamper = fn(&mut Output);

/// What was changed, how, and a check that has to notice it.
const DOCTORED: &[(&str, Tamper, &str)] = &[
    // robots.txt
    ("robots.txt: status 403 instead of 200", |o| o.robots(SITE, |r| r.status = Some(403)), "robots_access"),
    ("robots.txt: status 503 instead of 200", |o| o.robots(SITE, |r| r.status = Some(503)), "robots_access"),
    ("robots.txt: no answer instead of 200", |o| o.robots(SITE, |r| r.status = None), "robots_access"),
    (
        "robots.txt: a body that denies all",
        |o| {
            o.robots(SITE, |r| {
                r.set_body(b"User-agent: *\nDisallow: /\n");
            });
        },
        "denied",
    ),
    (
        "robots.txt: a permissive body, old digest",
        |o| o.robots(SITE, |r| r.body = Some("User-agent: *\nAllow: /\n".to_owned())),
        "robots_access",
    ),
    ("robots.txt: a permissive body, new digest", |o| o.robots(SITE, permissive), "seals"),
    (
        "robots.txt: Crawl-delay taken out",
        |o| o.robots(SITE, |r| r.set_body(b"User-agent: *\nDisallow: /denied\n")),
        "seals",
    ),
    (
        "robots.txt: a lifetime against max-age",
        |o| o.robots(SITE, |r| r.expires += SignedDuration::from_hours(1)),
        "robots_access",
    ),
    (
        "robots.txt: max-age taken out, lifetime raised",
        |o| {
            o.robots(SITE, |r| {
                r.headers.retain(|(name, _)| name != "cache-control");
                r.expires += SignedDuration::from_hours(23);
            });
        },
        "seals",
    ),
    (
        "robots.txt: a lifetime of two days",
        |o| o.robots(MISSING, |r| r.expires += SignedDuration::from_hours(24)),
        "robots_access",
    ),
    (
        "robots.txt: 403 taken for allow_all",
        |o| o.robots(CLOSED, |r| r.access = RobotsAccess::AllowAll),
        "robots_access",
    ),
    (
        "robots.txt: 403 made a 404 that allows all",
        |o| {
            o.robots(CLOSED, |r| {
                r.status = Some(404);
                r.access = RobotsAccess::AllowAll;
            });
        },
        "seals",
    ),
    (
        "robots.txt: 503 taken for allow_all",
        |o| o.robots(BROKEN, |r| r.access = RobotsAccess::AllowAll),
        "robots_access",
    ),
    (
        "robots.txt: 503 taken for a copy",
        |o| o.robots(BROKEN, |r| r.access = RobotsAccess::Stored),
        "robots_access",
    ),
    ("robots.txt: 429 taken for rules", |o| o.robots(SITE, |r| r.status = Some(429)), "robots_access"),
    (
        "robots.txt: rules taken for allow_all",
        |o| o.robots(SITE, |r| r.access = RobotsAccess::AllowAll),
        "robots_access",
    ),
    ("robots.txt: when it was fetched", |o| o.robots(SITE, |r| r.fetched_at = at(2.0).wall), "seals"),
    ("robots.txt: a header line about its age", |o| o.robots(MISSING, |r| r.headers.clear()), "seals"),
    (
        "robots.txt: a version taken out",
        |o| {
            let (key, _) = o.store.last(Tree::Robots, &RobotsRecord::prefix(CLOSED)).unwrap().unwrap();
            o.remove(Tree::Robots, key);
        },
        "seals",
    ),
    (
        "robots.txt: a version added",
        |o| {
            let record = robots_txt(1.0, "User-agent: *\nAllow: /\n", "rules");
            o.put(Tree::Robots, record.key(), record.write().unwrap());
        },
        "seals",
    ),
    (
        "a file about consent added",
        |o| {
            let mut key = format!("{SITE}\0{}\0", SiteFile::AiTxt.path()).into_bytes();
            key.extend([0; 8]);
            o.put(Tree::SiteFiles, key, b"x".to_vec());
        },
        "seals",
    ),
    // Settings
    (
        "crawl.toml: another agent",
        |o| "OtherRobot/1.0".clone_into(&mut o.rules.settings.agent.product),
        "settings",
    ),
    (
        "crawl.toml: another dialect",
        |o| o.rules.settings.robots.dialect = robots::Dialect::Koster1994,
        "settings",
    ),
    ("crawl.toml: another delay", |o| o.rules.settings.pace.delay = Duration::from_millis(1), "settings"),
    (
        "crawl.toml: on_forbidden",
        |o| o.rules.settings.robots.on_forbidden = config::OnForbidden::Rfc9309,
        "settings",
    ),
    ("crawl.toml: max_depth", |o| o.rules.settings.limits.max_depth = Some(9), "settings"),
    ("crawl.toml: another seed", |o| o.rules.seeds.push(format!("{SITE}/b")), "settings"),
    (
        "database: the settings at the start",
        |o| o.put(Tree::Meta, "settings", b"[robots]".to_vec()),
        "settings",
    ),
    (
        "database: the settings of a run taken out",
        |o| {
            let keys: Vec<_> = o.store.scan(Tree::Meta, b"settings/").map(|pair| pair.unwrap().0).collect();
            for key in keys {
                o.remove(Tree::Meta, key);
            }
        },
        "settings",
    ),
    // Pages
    (
        "page: its digest, and the ledger rewritten",
        |o| reseal(o, "/", |record| record.digest = Some("blake3:2".to_owned())),
        "archived_digests",
    ),
    ("page: its digest", |o| o.page("/", |r, _| r.digest = Some("blake3:2".to_owned())), "seals"),
    ("page: its status", |o| o.page("/b", |r, _| r.status = Some(404)), "seals"),
    ("page: its title", |o| o.page("/b", |r, _| r.title = Some("another".to_owned())), "seals"),
    ("page: when it was fetched", |o| o.page("/b", |r, _| r.fetched_at = at(60.0).wall), "seals"),
    ("page: via taken out", |o| o.page("/b", |r, _| r.via = None), "seals"),
    (
        "page: via and depth taken out",
        |o| {
            o.page("/b", |r, _| {
                r.via = None;
                r.depth = 0;
            });
        },
        "discovery",
    ),
    ("page: another depth", |o| o.page("/b", |r, _| r.depth = 7), "seals"),
    ("page: its X-Robots-Tag taken out", |o| o.page("/hidden", |r, _| r.headers.clear()), "seals"),
    (
        "page: content of a page under noindex put in",
        |o| o.page("/hidden", |r, _| r.title = Some("secret".to_owned())),
        "noindex",
    ),
    (
        "page: noindex made index",
        |o| {
            o.page("/hidden", |r, _| {
                r.headers.clear();
                (r.withheld, r.indexed, r.title) = (false, true, Some("secret".to_owned()));
            });
        },
        "seals",
    ),
    ("page: taken out", |o| forget(&o.store, &format!("{SITE}/hidden")), "seals"),
    (
        "page: added",
        |o| {
            rewrite(&o.store, |pages| {
                let mut added = pages[1].clone();
                added.0.url = format!("{SITE}/added");
                added.0.warc = None;
                added.0.archived = false;
                pages.push(added);
            });
        },
        "seals",
    ),
    (
        "page: the capture of another page",
        |o| {
            let place = o.place("/");
            o.page("/b", |r, _| r.warc = Some(place));
        },
        "archive",
    ),
    // Links
    (
        "link: nofollow of its rel taken out and queued",
        |o| {
            o.page("/", |_, links| {
                let link = links.iter_mut().find(|link| link.nofollow).unwrap();
                (link.nofollow, link.outcome) = (false, Queued);
                link.rel.clear();
            });
        },
        "archived_links",
    ),
    (
        "link: queued through one that isn't in the page",
        |o| o.page("/", |_, links| links.push(link("/new", Queued))),
        "archived_links",
    ),
    ("link: queued changed to skipped", |o| o.page("/", |_, links| links[0].outcome = Pattern), "seals"),
    ("link: taken out", |o| o.page("/", |_, links| drop(links.remove(0))), "seals"),
    ("link: its text", |o| o.page("/", |_, links| links[0].text = "other".into()), "seals"),
    ("link: all of them blank, as of a withheld page", |o| o.page("/", |_, links| links.clear()), "seals"),
    // Archive
    (
        "archive: another body, digests recomputed",
        |o| o.capture("<html><body>another</body></html>"),
        "seals",
    ),
    (
        "archive: a body that says noindex",
        |o| o.capture("<meta name=robots content=noindex>"),
        "archived_words",
    ),
    (
        "archive: bytes changed",
        |o| {
            let mut bytes = std::fs::read(o.archive()).unwrap();
            let place = usize::try_from(o.place("/b").offset).unwrap() + 40;
            bytes[place] ^= 0x55;
            std::fs::write(o.archive(), bytes).unwrap();
        },
        "archive",
    ),
    (
        "archive: truncated",
        |o| {
            let file = std::fs::OpenOptions::new().write(true).open(o.archive()).unwrap();
            file.set_len(o.place("/b").offset).unwrap();
        },
        "archive",
    ),
    ("archive: a file taken out", |o| std::fs::remove_file(o.archive()).unwrap(), "archive"),
    (
        "archive: a resource of a denied URL added",
        |o| o.append(&member("resource", &format!("{SITE}/denied"), "secret")),
        "seals",
    ),
    (
        "archive: a conversion added",
        |o| o.append(&member("conversion", &format!("{SITE}/b"), "text")),
        "seals",
    ),
    ("archive: metadata added", |o| o.append(&member("metadata", &format!("{SITE}/b"), "via: x")), "seals"),
    (
        "archive: a request added",
        |o| o.append(&member("request", &format!("{SITE}/b"), "GET / HTTP/1.1")),
        "seals",
    ),
    (
        "archive: a response of a denied URL added",
        |o| o.append(&captured(&format!("{SITE}/denied"), "secret").bytes),
        "archive",
    ),
    (
        "archive: a capture noted as withdrawn, and still there",
        |o| {
            let place = o.place("/b");
            let (url, at) = (format!("{SITE}/b"), at(7.0).wall);
            let withdrawal = Withdrawal { v: 1, url, place, at, because: "noindex".to_owned(), done: true };
            o.put(Tree::Withdrawn, withdrawal.key(), serde_json::to_vec(&withdrawal).unwrap());
        },
        "withdrawn",
    ),
    // Ledger
    ("ledger: an entry taken out", |o| o.entry(|entries| drop(entries.remove(3))), "ledger"),
    ("ledger: an entry changed", |o| o.entry(|entries| entries[4].reason = "allowed".into()), "ledger"),
    ("ledger: two entries exchanged", |o| o.entry(|entries| entries.swap(2, 3)), "ledger"),
    (
        "ledger: a request moved in time",
        |o| {
            o.entry(|entries| {
                let request = entries[3].evidence.request.as_mut().unwrap();
                request.clock += Duration::from_secs(5);
            });
        },
        "ledger",
    ),
    ("ledger: the last entry removed", |o| o.entry(|entries| drop(entries.pop())), "ledger"),
    (
        "ledger: rewritten without its last entry, the head known",
        |o| {
            o.rules.head = Some(o.head().to_string());
            o.rewrite_ledger(|entries| drop(entries.pop()));
        },
        "head",
    ),
    (
        "ledger: digests rewritten for a changed page, the head known",
        |o| {
            o.rules.head = Some(o.head().to_string()[..16].to_owned());
            reseal(o, "/b", another_title);
        },
        "head",
    ),
    (
        "ledger: digests taken out, with the settings of the first run",
        |o| {
            o.rewrite_ledger(|entries| {
                for entry in entries {
                    entry.evidence.stored = None;
                }
            });
        },
        "seals",
    ),
    (
        "ledger: taken out",
        |o| {
            let keys: Vec<_> = o.store.scan(Tree::Ledger, &[]).map(|pair| pair.unwrap().0).collect();
            for key in keys {
                o.remove(Tree::Ledger, key);
            }
        },
        "ledger",
    ),
];

/// Changes a page, and writes a ledger that speaks of the page as it is now.
fn reseal(o: &Output, path: &str, change: fn(&mut PageRecord)) {
    o.page(path, |record, _| change(record));
    let url = format!("{SITE}{path}");
    let pages = scan_with_links(&*o.store).map(Result::unwrap);
    let page = pages.into_iter().find(|page| page.record().unwrap().url == url).unwrap();
    let seal = crate::record::Seal::of(page.json());
    o.rewrite_ledger(|entries| {
        let stored =
            entries.iter_mut().filter(|entry| entry.url == url).find_map(|e| e.evidence.stored.as_mut());
        stored.unwrap().record = seal;
    });
}

fn another_title(record: &mut PageRecord) {
    record.title = Some("another".to_owned());
}

/// What nobody can notice, and why; `docs/politeness.md` says the same.
const UNNOTICED: &[(&str, Tamper, &str)] = &[
    (
        "page changed and the whole ledger rewritten",
        |o| reseal(o, "/b", another_title),
        "nobody wrote the head down: the chain has no key",
    ),
    (
        "warcinfo of an archive file changed",
        |o| {
            let bytes = std::fs::read(o.archive()).unwrap();
            let first = usize::try_from(o.place("/").offset).unwrap();
            let info = |padding| padded("warcinfo", "http://a.test/", "software: x\r\n", padding);
            // Of the same length, so that no place moves.
            let info = info(first - info(0).len() - 1);
            assert_eq!(info.len(), first);
            std::fs::write(o.archive(), [&info[..], &bytes[first..]].concat()).unwrap();
        },
        "it names the software; no promise rests on it",
    ),
];

#[test]
fn every_doctoring_is_noticed_by_the_check_that_names_it() {
    assert!(DOCTORED.len() >= 40);
    let untouched = Output::new().judge();
    assert_eq!(broken(&untouched), [""; 0], "{untouched:#?}");
    let mut table = Vec::new();
    let mut unnoticed = Vec::new();
    let mut by_check: BTreeMap<&str, usize> = BTreeMap::new();
    let plain = DOCTORED.iter().map(|row| (Output::new as fn() -> Output, row));
    let rows =
        plain.chain(super::discovery::DOCTORED.iter().map(|row| (Output::with_ways as fn() -> Output, row)));
    for (new, (what, tamper, check)) in rows {
        let mut output = new();
        tamper(&mut output);
        let found = match audit(&output.store, Some(output.top.path()), &output.rules) {
            Ok(report) => broken(&report),
            Err(error) => panic!("{what}: {error}"),
        };
        table.push(format!("{what:66} {}", found.join(", ")));
        for name in &found {
            *by_check.entry(name).or_default() += 1;
        }
        if !found.contains(check) {
            unnoticed.push(format!("{what}: {check} isn't among {found:?}"));
        }
    }
    println!("{}\n{} doctorings; {by_check:?}", table.join("\n"), table.len());
    assert!(unnoticed.is_empty(), "{unnoticed:#?}");
}

#[test]
fn undetectable_changes_are_listed_with_their_reasons() {
    for (what, tamper, why) in UNNOTICED {
        let mut output = Output::new();
        tamper(&mut output);
        assert_eq!(broken(&output.judge()), [""; 0], "{what} is noticed, though {why}");
    }
}

#[test]
fn a_head_that_was_written_down_is_met_in_full_or_by_its_beginning() {
    let mut output = Output::new();
    let head = output.head().to_string();
    for (text, is_broken) in [(&head[..], false), (&head[..16], false), ("0123456789abcdef", true)] {
        output.rules.head = Some(text.to_owned());
        assert_eq!(broken(&output.judge()).contains(&"head"), is_broken, "{text}");
    }
}

#[test]
fn links_that_a_later_visit_withholds_have_a_digest_of_what_remains() {
    let withheld = |links: Vec<LinkRecord>, keeps_links: bool| {
        let mut record = page("/hidden-later", 9.0, None);
        if keeps_links {
            record.headers.push(header("x-robots-tag", "noindex"));
            record.withhold();
            record.visits_before = 1;
        }
        SettledPage {
            host: HostId(0),
            page: CrawlUrl::parse(&record.url).unwrap().fingerprint(&KEY),
            record,
            links,
            keeps_links,
            blanks_links: keeps_links,
            warc: None,
            discovery: None,
            text: None,
        }
    };
    let links = || vec![link("/b", LinkOutcome::Seen), link("/rel", LinkOutcome::RelNofollow)];
    for in_one_commit in [false, true] {
        let output = Output::new();
        let (first, second) = (withheld(links(), false), withheld(Vec::new(), true));
        let batches = if in_one_commit { vec![vec![first, second]] } else { vec![vec![first], vec![second]] };
        let mut committer = Committer::open(Arc::clone(&output.store), None).unwrap();
        for pages in batches {
            committer.commit(Batch { pages, ..Batch::default() }).unwrap();
        }
        let mut remain = links();
        withhold_links(&mut remain);
        let page = scan_with_links(&*output.store).last().unwrap().unwrap();
        assert_eq!(page.links().unwrap(), remain, "in one commit: {in_one_commit}");
        let stored = output.entries().last().unwrap().evidence.stored.clone().unwrap();
        assert_eq!(stored.links, Some(Seal::of(&encode_links(&remain).unwrap())), "{in_one_commit}");
        let check = output.judge().checks.into_iter().find(|check| check.name == "seals").unwrap();
        assert_eq!(check.violations, 0, "{:?}", check.first);
    }
}

#[test]
fn records_of_a_version_without_digests_are_counted_and_not_broken() {
    let output = Output::new();
    // The older version entered neither settings nor digests.
    output.rewrite_ledger(|entries| {
        for entry in entries {
            (entry.evidence.run, entry.evidence.stored) = (None, None);
        }
    });
    let report = output.judge();
    assert_eq!(broken(&report), [""; 0], "{report:#?}");
    let seals = report.checks.iter().find(|check| check.name == "seals").unwrap();
    assert!(seals.unjudged.is_some());
    // The crawl is resumed: what is new has digests.
    let output = Output::new();
    output.rewrite_ledger(|entries| {
        for entry in entries {
            entry.evidence.run = None;
            if !entry.url.ends_with("/hidden") {
                entry.evidence.stored = None;
            }
        }
    });
    let report = output.judge();
    assert_eq!(broken(&report), [""; 0], "{report:#?}");
    let seals = report.checks.iter().find(|check| check.name == "seals").unwrap();
    // Two pages, their captures, four versions of robots.txt.
    assert_eq!((seals.judged, seals.unbound), (9, 8));
}
