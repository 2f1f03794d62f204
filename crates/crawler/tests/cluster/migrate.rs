//! `crawl cluster migrate`: crawls as earlier versions stored them, at rest, and what becomes of them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::{Child, Stdio};

use crawler::job::FORMAT;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::databases::add;
use crate::judge::Judge;
use crate::program::{
    Worker, crawl, expect_clean_audit, expect_clean_audit_of, expect_polite_and_whole, init_with, run,
    status, text,
};
use crate::server::{Server, until, wait};

/// The format of the tables that this version makes.
const NEWEST: &str = "6";

/// A form of the tables that an earlier version made: its number, and whether it is the first one that had that number.
#[derive(Clone, Copy, Debug)]
struct Form(u32, bool);

/// Each form that crawls were made in. Format 3 had no rate and no bandwidth at first, format 5 a single database.
const FORMS: [Form; 6] =
    [Form(2, true), Form(3, true), Form(3, false), Form(4, true), Form(5, true), Form(5, false)];

/// A letter on its way, as its writer keeps it.
#[derive(Clone, Serialize, Deserialize)]
struct Sent {
    to: u32,
    key: Vec<u8>,
    text: Vec<u8>,
}

/// Unpacks a value (docs/storage.md): 0, or 1, the length in 4 bytes, and zstd.
fn unpack(value: &[u8]) -> Vec<u8> {
    match value[0] {
        0 => value[1..].to_vec(),
        1 => zstd::decode_all(&value[5..]).unwrap(),
        other => panic!("encoding {other}"),
    }
}

fn number(server: &Server, url: &str, sql: &str) -> u64 {
    server.sql(url, sql).parse().unwrap()
}

const WRITTEN: &str = "select count(*) from kv where tree = 17";
const TO_READ: &str = "select count(*) from kv where tree = 16";

/// Takes a database of a crawl at rest back to a form: tables, and letters, of which none is with its reader. Before format 4 each letter was put to its
/// reader at once, in a row of its own; then those of a commit stayed with their writer for a while. Neither was packed. Of later forms every other row of
/// letters that are for partitions of the same database is with its readers.
fn take_back(server: &Server, url: &str, form: Form) {
    let Form(format, is_first) = form;
    assert_eq!(number(server, url, TO_READ), 0);
    let parts: BTreeSet<u32> =
        server.sql(url, "select id from part").lines().map(|id| id.parse().unwrap()).collect();
    let rows =
        server.sql(url, "select part, encode(key, 'hex'), encode(value, 'hex') from kv where tree = 17");
    let mut sql = "delete from kv where tree = 17;".to_owned();
    for (count, row) in rows.lines().enumerate() {
        let [part, key, value] = row.split('|').collect::<Vec<_>>().try_into().unwrap();
        let bundle = unpack(&HEXLOWER.decode(value.as_bytes()).unwrap());
        let mut put = |part: &str, tree: u8, key: &str, value: &[u8]| {
            let value = HEXLOWER.encode(value);
            writeln!(sql, "insert into kv values ({part}, {tree}, '\\x{key}', '\\x{value}');").unwrap();
        };
        let letters: Vec<Sent> = postcard::from_bytes(&bundle).unwrap();
        let are_here = letters.iter().all(|letter| parts.contains(&letter.to));
        if format < 4 || are_here && count % 2 == 0 {
            for letter in letters {
                put(&letter.to.to_string(), 16, &HEXLOWER.encode(&letter.key), &letter.text);
            }
        } else {
            put(part, 17, key, &bundle);
        }
    }
    if format < 5 || is_first {
        sql += "drop table further, place, heard;
            alter table crawl drop column partitions, drop column number, drop column databases, drop column orders, drop column was;";
    }
    if format < 5 {
        sql += "drop table address;";
    }
    if format < 4 {
        sql += "alter table kv detach partition kv_mail; alter table kv attach partition kv_mail for values in (16);";
    }
    if format < 3 || format == 3 && is_first {
        sql += "alter table quota drop column slot, drop column paid;";
    }
    if format < 3 {
        sql += "drop table share, quota;
            alter table crawl drop column run, drop column worked_ms, drop column limit_reached;";
    }
    // Of the stores of the partitions, until the tables had format 6.
    sql += "update kv set value = '3' where tree = 0 and key = 'format';";
    writeln!(sql, "update crawl set format = {format};").unwrap();
    // Longer than an argument of a program may be.
    let mut psql = server.psql(url);
    let mut child = psql.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), format!("begin; {sql} commit;").as_bytes())
        .unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// What a database says of its tables.
fn catalog(server: &Server, url: &str) -> String {
    let columns = "
select table_name, column_name, data_type, is_nullable, column_default, is_identity from information_schema.columns
where table_schema = 'public' order by 1, 2";
    let tables = "
select relname, reloptions, pg_get_partkeydef(oid), pg_get_expr(relpartbound, oid) from pg_class
where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1";
    let indexes = "select indexname, indexdef from pg_indexes where schemaname = 'public' order by 1";
    let constraints = "
select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2";
    [columns, tables, indexes, constraints].map(|sql| server.sql(url, sql)).join("\n")
}

fn format_of(server: &Server, url: &str) -> String {
    server.sql(url, "select format from crawl")
}

fn migrate(url: &str) -> serde_json::Value {
    let migrated = run(&["cluster", "migrate", url, "--json"]);
    assert!(migrated.status.success(), "{}", text(&migrated));
    serde_json::from_slice(&migrated.stdout).unwrap()
}

fn expect_refused(args: &[&str], code: i32, words: &str) {
    let refused = run(args);
    assert_eq!(refused.status.code(), Some(code), "{args:?}: {}", text(&refused));
    assert!(text(&refused).contains(words), "{args:?}: {}", text(&refused));
}

/// A crawl that was stopped in its middle, with letters that no worker took to their readers.
fn stopped(server: &Server, databases: &[&str], judge: &Judge, dir: &TempDir) {
    let [url, further @ ..] = databases else { panic!("there is a database") };
    init_with(url, judge, &["--single-server"]);
    for new in further {
        assert!(add(url, new).status.success());
    }
    let mut worker = Worker::start(url, dir.path(), "before");
    until(|| judge.count() > 30);
    for database in databases {
        server.sql(
            database,
            "create function hold() returns trigger language plpgsql as $$ begin raise 'held'; end $$;
            create trigger hold before insert on kv_mail for each row when (new.tree = 16) execute function hold()",
        );
    }
    let held =
        |database: &&str| number(server, database, TO_READ) == 0 && number(server, database, WRITTEN) > 2;
    until(|| databases.iter().all(held));
    assert!(run(&["cluster", "stop", url]).status.success());
    assert_eq!(worker.code(), Some(11));
    for database in databases {
        server.sql(database, "drop trigger hold on kv_mail; drop function hold");
    }
}

/// A stopped crawl of an earlier form, which every command refuses, is brought to the present one and crawled to its end.
fn migrated_and_continued(form: Form, further: usize) {
    let Some(server) = Server::start(&[]) else { return };
    let (judge, dir) = (Judge::start(), TempDir::new().unwrap());
    let all: Vec<String> = (0..=further).map(|_| server.database()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let url = all[0];
    stopped(&server, &all, &judge, &dir);
    let before = status(url);
    for database in &all {
        take_back(&server, database, form);
    }
    let warc = dir.path().join("unused").display().to_string();
    for args in [
        &["cluster", "status", url][..],
        &["cluster", "stop", url],
        &["cluster", "resume", url],
        &["cluster", "lost", url, "1"],
        &["cluster", "export", url, "--out", &warc],
        &["show", "--cluster", url],
        &["worker", "--cluster", url, "--out", &warc],
    ] {
        expect_refused(args, 5, "`crawl cluster migrate DATABASE`");
        assert_eq!(format_of(&server, url), form.0.to_string());
    }
    let done = migrate(url);
    assert_eq!((done["format"].to_string(), done["state"].as_str()), (NEWEST.to_owned(), Some("stopped")));
    for of in done["databases"].as_array().unwrap() {
        assert_eq!(of["from"].as_u64(), Some(form.0.into()), "{done}");
        assert_eq!(of["partitions"].as_u64(), Some(16 / all.len() as u64), "{done}");
    }
    let after = status(url);
    for key in ["state", "queued", "totals", "partitions", "partitions_free", "databases"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    assert!(after["letters"].as_u64() > Some(0), "{after}");
    for database in &all {
        let others =
            format!("select count(*) from kv where tree = 0 and key = 'format' and value <> '{FORMAT}'");
        assert_eq!(
            (format_of(&server, database), number(&server, database, &others)),
            (NEWEST.to_owned(), 0)
        );
    }
    let again = run(&["cluster", "migrate", url]);
    assert_eq!(
        (again.status.code(), text(&again)),
        (Some(0), format!("the crawl is already of format {NEWEST}\n"))
    );

    assert!(run(&["cluster", "resume", url]).status.success());
    assert_eq!(Worker::start(url, dir.path(), "after").code(), Some(0));
    expect_polite_and_whole(&judge, 0);
    let found = status(url);
    assert_eq!((found["state"].as_str(), found["letters"].as_u64()), (Some("complete"), Some(0)), "{found}");
    assert_eq!(found["totals"]["pages"].as_u64(), Some(Judge::truth().len() as u64), "{found}");
    assert_eq!(found["totals"]["runs"].as_u64(), Some(2), "{found}");
    expect_clean_audit(url, dir.path(), &["before", "after"]);
    let back = dir.path().join("back").display().to_string();
    let archives = ["before", "after"].map(|name| dir.path().join(name).join("warc").display().to_string());
    let exported =
        run(&["cluster", "export", url, "--out", &back, "--warc", &archives[0], "--warc", &archives[1]]);
    assert!(exported.status.success(), "{}", text(&exported));
    expect_clean_audit_of(&["audit", &back, "--json"]);
}

#[test]
fn a_crawl_of_format_2_is_migrated_and_continued() {
    migrated_and_continued(Form(2, true), 0);
}

#[test]
fn a_crawl_of_format_4_is_migrated_and_continued() {
    migrated_and_continued(Form(4, true), 0);
}

#[test]
fn a_crawl_of_format_5_in_two_databases_is_migrated_and_continued() {
    migrated_and_continued(Form(5, false), 1);
}

#[test]
fn each_form_that_a_crawl_was_made_in_becomes_the_present_one() {
    let Some(server) = Server::start(&[]) else { return };
    let judge = Judge::start();
    for form in FORMS {
        let url = server.database();
        init_with(&url, &judge, &["--single-server"]);
        let made = catalog(&server, &url);
        take_back(&server, &url, form);
        let is_other = catalog(&server, &url) != made;
        assert_eq!(is_other, form.0 < 5 || form.1, "{form:?} has other tables");
        let done = migrate(&url);
        // One that no worker has begun is stopped as well: a worker of an earlier version may just have been started.
        assert_eq!(done["state"].as_str(), Some("stopped"), "{form:?}: {done}");
        similar_or_panic(&made, &catalog(&server, &url), form);
        assert_eq!(server.sql(&url, "select count(*), min(octet_length(upto)) from heard"), "16|0");
        assert_eq!(server.sql(&url, "select count(*), sum(pages) from share"), "16|0");
        assert_eq!(status(&url)["queued"].as_u64(), Some(1));
    }
}

fn similar_or_panic(made: &str, migrated: &str, form: Form) {
    let other: Vec<_> = migrated.lines().filter(|line| !made.lines().any(|of| of == *line)).collect();
    let missing: Vec<_> = made.lines().filter(|line| !migrated.lines().any(|of| of == *line)).collect();
    assert!(other.is_empty() && missing.is_empty(), "{form:?}: {other:#?} instead of {missing:#?}");
}

#[test]
fn what_partitions_stored_counts_for_the_limits_of_a_crawl_that_had_none() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    stopped(&server, &[&url], &judge, &dir);
    let before = status(&url)["totals"]["pages"].as_u64().unwrap();
    take_back(&server, &url, Form(2, true));
    migrate(&url);
    assert_eq!(number(&server, &url, "select sum(pages) from share"), before);
    let most = (before + 20).to_string();
    assert!(run(&["cluster", "resume", &url, "--max-pages", &most]).status.success());
    assert_eq!(Worker::start(&url, dir.path(), "after").code(), Some(10));
    assert_eq!(status(&url)["totals"]["pages"].as_u64(), Some(before + 20));
}

fn spawn_migrate(url: &str) -> Child {
    crawl(&["cluster", "migrate", url]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_worker_of_the_earlier_version_is_left_alone_until_it_is_silent() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge) = (server.database(), Judge::start());
    init_with(&url, &judge, &["--single-server"]);
    take_back(&server, &url, Form(4, true));
    server.sql(&url, "insert into worker(name) values ('old'); update part set owner = 1, fence = fence + 1");
    let mut child = spawn_migrate(&url);
    until(|| {
        server.sql(&url, "update worker set beat = beat + 1");
        child.try_wait().unwrap().is_some()
    });
    let refused = child.wait_with_output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    for words in ["1 (old)", "crawl cluster stop DATABASE", url.split(['/', '?']).nth(3).unwrap()] {
        assert!(text(&refused).contains(words), "{words}: {}", text(&refused));
    }
    assert_eq!(format_of(&server, &url), "4");
    assert_eq!(number(&server, &url, "select count(*) from part where owner = 1"), 16);
    // It died without a word.
    let done = migrate(&url);
    assert_eq!((done["state"].as_str(), done["databases"][0]["from"].as_u64()), (Some("stopped"), Some(4)));
    assert_eq!(number(&server, &url, "select count(*) from part where owner is not null"), 0);
    assert_eq!(server.sql(&url, "select alive from worker"), "f");
}

#[test]
fn unfinished_and_newer_crawls_are_refused_and_stay_as_they_are() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, second, judge) = (server.database(), server.database(), Judge::start());
    expect_refused(&["cluster", "migrate", &url], 2, "there is no crawl in the database");
    init_with(&url, &judge, &["--single-server"]);
    assert!(add(&url, &second).status.success());
    expect_refused(&["cluster", "migrate", &second], 2, "is a further database of a crawl");
    server.sql(&url, "update crawl set format = 7");
    for args in [&["cluster", "migrate", &url][..], &["cluster", "status", &url]] {
        expect_refused(
            args,
            5,
            "have format 7, and this version of crawl works with format 6; a newer version",
        );
    }
    server.sql(&url, "update crawl set format = 1");
    expect_refused(&["cluster", "migrate", &url], 5, "make the crawl again in an empty database");
    server.sql(&url, "update crawl set format = 5");
    server.sql(&second, "update kv set value = '99' where tree = 0 and key = 'format' and part = 15");
    expect_refused(&["cluster", "migrate", &url], 5, "records of format 99, made by a newer version");
    server.sql(&second, &format!("update kv set value = '{FORMAT}' where tree = 0 and key = 'format'"));
    server.sql(&url, "update crawl set was = 'stopped', state = 'adding'");
    expect_refused(
        &["cluster", "migrate", &url],
        2,
        "the same `crawl cluster add` of the version that began it",
    );
    server.sql(&url, "update crawl set was = null, state = 'making'");
    expect_refused(&["cluster", "migrate", &url], 2, "the crawl isn't made yet");
    assert_eq!(server.sql(&url, "select format, state from crawl"), "5|making");
}

/// Holds what a migration needs until it is ended.
struct Lock<'a>(Child, &'a Server, String);

impl<'a> Lock<'a> {
    fn take(server: &'a Server, url: &str) -> Self {
        let mut psql = server.psql(url);
        psql.args(["-c", "begin; lock table kv_mail in share mode; select pg_sleep(60)"]);
        let child = psql.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let lock = Self(child, server, url.to_owned());
        until(|| lock.count("granted and mode = 'ShareLock' and relation = 'kv_mail'::regclass") > 0);
        lock
    }

    fn count(&self, what: &str) -> u64 {
        number(self.1, &self.2, &format!("select count(*) from pg_locks where {what}"))
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        let Self(child, server, url) = self;
        server.sql(url, "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid()");
        child.wait().unwrap();
    }
}

#[test]
fn a_migration_that_is_killed_in_its_middle_is_done_by_the_next_one() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, second, judge, dir) =
        (server.database(), server.database(), Judge::start(), TempDir::new().unwrap());
    stopped(&server, &[&url, &second], &judge, &dir);
    let made = catalog(&server, &url);
    for database in [&url, &second] {
        take_back(&server, database, Form(5, false));
    }
    let letters = "select md5(string_agg(value, '' order by part, key)) from kv where tree in (16, 17)";
    let before = server.sql(&url, letters);
    let lock = Lock::take(&server, &url);
    let mut child = spawn_migrate(&url);
    until(|| format_of(&server, &second) == NEWEST && lock.count("not granted") > 0);
    child.kill().unwrap();
    child.wait().unwrap();
    // The server gives up what waits for the lock, though nobody waits for it.
    until(|| lock.count("not granted") == 0);
    assert_eq!((format_of(&server, &url), server.sql(&url, letters)), ("5".to_owned(), before));
    expect_refused(&["cluster", "status", &url], 5, "`crawl cluster migrate DATABASE`");
    // Who reads the crawl isn't waited for without end.
    expect_refused(&["cluster", "migrate", &url], 5, "are in use for more than 4 s");
    assert_eq!(format_of(&server, &url), "5");
    drop(lock);
    wait(std::time::Duration::from_millis(100));
    let done = migrate(&url);
    let from: Vec<_> =
        done["databases"].as_array().unwrap().iter().map(|of| of["from"].as_u64().unwrap()).collect();
    assert_eq!(from, [5, 6], "{done}");
    similar_or_panic(&made, &catalog(&server, &url), Form(5, false));
    assert!(run(&["cluster", "resume", &url]).status.success());
    assert_eq!(Worker::start(&url, dir.path(), "after").code(), Some(0));
    expect_polite_and_whole(&judge, 0);
    expect_clean_audit(&url, dir.path(), &["before", "after"]);
}

#[test]
fn records_of_an_earlier_format_become_the_present_one_by_a_worker_or_a_migration() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server", "--max-pages", "5"]);
    let newest = format!("select count(*) from kv where tree = 0 and key = 'format' and value = '{FORMAT}'");
    let take_back = || server.sql(&url, "update kv set value = '4' where tree = 0 and key = 'format'");
    take_back();
    assert_eq!(Worker::start(&url, dir.path(), "one").code(), Some(10));
    assert_eq!(number(&server, &url, &newest), 16);
    server.sql(&url, "update kv set value = '99' where tree = 0 and key = 'format' and part = 3");
    assert!(run(&["cluster", "resume", &url]).status.success());
    assert_eq!(Worker::start(&url, dir.path(), "two").code(), Some(10));
    assert_eq!(number(&server, &url, &newest), 15, "a newer number stays");
    take_back();
    let done = migrate(&url);
    let database = &done["databases"][0];
    assert_eq!(
        (database["from"].to_string(), database["partitions"].as_u64()),
        (NEWEST.to_owned(), Some(16))
    );
    assert_eq!((number(&server, &url, &newest), done["state"].as_str()), (16, Some("complete")));
}
