//! Crawls that can't be written: on a read-only file system, of another user, and without permission to write. Every command that only reads works
//! there; it copies the database, says so, and leaves nothing behind.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use whole_program::program::{Crawl, Output, PATIENCE, binary};
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;
use crate::serve::{body, free_port};
use crate::stop::{pause, wait_for};

/// How the crawl can't be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hindrance {
    /// The file system is read-only, as a mounted image or a volume of a container.
    Mount,
    /// Its files belong to somebody else, who lets others read.
    OtherUser,
    /// Nobody may write, not even the owner.
    Modes,
}

impl Hindrance {
    const ALL: [Self; 3] = [Self::Mount, Self::OtherUser, Self::Modes];

    /// A line of shell that the program is run behind. Root may write whatever the modes say, unless that is taken from it.
    fn line(self, out: &Path) -> String {
        let dir = out.display();
        match self {
            Self::Mount => format!(
                "exec unshare -rm sh -c 'mount --bind {dir} {dir} && mount -o remount,ro,bind {dir} && exec \"$0\" \"$@\"' \"$0\" \"$@\""
            ),
            Self::OtherUser => {
                "exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$0\" \"$@\"".to_owned()
            }
            Self::Modes if is_root() => {
                "exec setpriv --bounding-set=-all --inh-caps=-all \"$0\" \"$@\"".to_owned()
            }
            Self::Modes => ":".to_owned(),
        }
    }

    /// Whether this machine and this user can make it.
    fn can_be_made(self, out: &Path) -> bool {
        let probe = Command::new("sh")
            .args(["-c", &format!("{}; exec \"$0\" \"$@\"", self.line(out))])
            .arg(binary())
            .arg("--version")
            .output();
        let can = probe.is_ok_and(|probe| probe.status.success());
        if !can {
            eprintln!(
                "SKIPPED: {self:?}: needs unshare -rm, or root and setpriv, and a binary that others may run"
            );
        }
        can
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.starts_with(b"0"))
}

/// A crawl, a directory for copies, and what hinders writing.
struct Shut {
    scene: Scene,
    hindrance: Hindrance,
}

impl Shut {
    fn new(hindrance: Hindrance) -> Option<Self> {
        let words =
            "Nails and hammers, saws and planes, chisels, files, rasps and clamps for every workshop.";
        let page = |title: &str| Answer::html(format!("<title>{title}</title><p>{words}"));
        let sites = Sites::new()
            .page(
                "a.test",
                "/robots.txt",
                Answer::content("text/plain", "User-agent: *\nDisallow: /private\n"),
            )
            .page(
                "a.test",
                "/",
                Answer::html("<title>Tools</title><a href=/1>1</a><a href=/private>2</a><a href=/3>3</a>"),
            )
            .page("a.test", "/1", page("One"))
            .page("a.test", "/3", page("Three"));
        let scene = Scene::new(sites);
        scene.crawl().run().expect(0);
        copy(&scene.out(), &scene.path("other"));
        copy(&scene.out(), &scene.path("third"));
        fs::create_dir(scene.path("copies")).expect("it can be made");
        let shut = Self { scene, hindrance };
        shut.open_to_others();
        hindrance.can_be_made(&shut.scene.out()).then_some(shut)
    }

    /// Everybody may read the crawl and write copies; with `Modes` nobody may write in it.
    fn open_to_others(&self) {
        let top = self.scene.path("");
        set_mode(&top, 0o755);
        set_mode(&self.scene.path("copies"), 0o777);
        let (dirs, files) = if self.hindrance == Hindrance::Modes { (0o555, 0o444) } else { (0o755, 0o644) };
        for path in paths(&self.scene.out()) {
            set_mode(&path, if path.is_dir() { dirs } else { files });
        }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.begin(arguments).run()
    }

    fn begin(&self, arguments: &[&str]) -> Crawl {
        Crawl::new(arguments).under(&self.hindrance.line(&self.scene.out()))
    }

    fn copies(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.scene.path("copies")).expect("it can be listed");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }

    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = paths(&self.scene.out()).into_iter().filter(|path| path.is_file());
        files.map(|path| (path.clone(), fs::read(&path).expect("a file"))).collect()
    }
}

impl Drop for Shut {
    fn drop(&mut self) {
        for path in paths(&self.scene.out()).iter().filter(|path| path.is_dir()) {
            set_mode(path, 0o755);
        }
    }
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(status.is_ok_and(|status| status.success()), "{} can be copied", from.display());
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode can be set");
}

/// A directory and everything below it, directories before what is in them.
fn paths(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    let mut place = 0;
    while let Some(dir) = found.get(place).cloned() {
        place += 1;
        if !dir.is_symlink() && dir.is_dir() {
            let entries = fs::read_dir(&dir).expect("it can be listed");
            found.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
    }
    found
}

#[test]
fn every_command_that_reads_answers_as_where_it_may_write_and_leaves_nothing_behind() {
    for hindrance in Hindrance::ALL {
        let Some(shut) = Shut::new(hindrance) else { continue };
        let paths = [shut.scene.out(), shut.scene.path("other"), shut.scene.path("third")];
        let [out, other, third] = paths.each_ref().map(|path| path.to_str().expect("text"));
        let copies = shut.scene.path("copies");
        let copies = ["--snapshot-dir", copies.to_str().expect("text")];
        let before = shut.contents();
        let commands: [&[&str]; 20] = [
            &["show", out],
            &["show", out, "pages", "--json", "--sort", "bytes:desc"],
            &["show", out, "links", "--json"],
            &["show", out, "ledger", "--json"],
            &["show", out, "skipped", "--json"],
            &["show", out, "robots", "a.test"],
            &["show", out, "page", "http://a.test/1"],
            &["status", out, "--json"],
            &["export", out, "--table", "pages", "--format", "csv"],
            &["export", out, "--table", "hosts", "--format", "graphml"],
            &["export", out, "--table", "pages", "--format", "edges"],
            &["audit", out, "--json"],
            &["explain", out, "http://a.test/private"],
            &["report", out, "--host", "a.test"],
            &["report", out, "--json"],
            &["robots", "log", out, "a.test"],
            &["robots", "diff", out, "a.test"],
            &["page", "check", "--from", out, "http://a.test/1"],
            &["plan", "--offline", out, "--json"],
            &["diff", out, third],
        ];
        for command in commands {
            // A copy of the crawl that may be written, by the same name in what is printed.
            let named: Vec<&str> =
                command.iter().map(|word| if *word == out { other } else { word }).collect();
            let expected = Crawl::new(&named).run();
            let found = shut.run(&[command, &copies].concat());
            assert_eq!(found.code, expected.code, "{hindrance:?} {command:?}: {found}");
            let is_same = timeless(&found.stdout.replace(out, other)) == timeless(&expected.stdout);
            assert!(is_same, "{hindrance:?} {command:?}: {found}\nexpected: {expected}");
            assert!(found.stderr.contains("its database ("), "{hindrance:?} {command:?}: {found}");
            assert!(shut.copies().is_empty(), "{hindrance:?} {command:?}: {:?}", shut.copies());
        }
        // The index is read where it is.
        for query in ["hammers", "title:three"] {
            let expected = Crawl::new(["search", other, query, "--json"]).run();
            let found = shut.run(&["search", out, query, "--json"]);
            assert_eq!(found.expect(0).stdout, expected.stdout, "{hindrance:?}");
            assert!(
                found.stdout.contains("http://a.test/") && found.stderr.is_empty(),
                "{hindrance:?}: {found}"
            );
        }
        let outside = shut.scene.path("copies");
        let wacz = outside.join("crawl.wacz");
        let wacz = wacz.to_str().expect("text");
        let packed = shut.run(&[&["export", out, "--format", "wacz", "-o", wacz], &copies[..]].concat());
        assert_eq!(packed.expect(0).stderr.matches(" WARN ").count(), 1, "{hindrance:?}: {packed}");
        assert_eq!(shut.copies(), [PathBuf::from(wacz)], "{hindrance:?}");
        // What writes says that it can't, and copies nothing.
        for command in [&["index", out][..], &["resume", out], &["forget", out, "http://a.test/1"]] {
            let found = shut.run(command);
            let words =
                if hindrance == Hindrance::Mount { "Read-only file system" } else { "Permission denied" };
            assert!(found.expect(5).stderr.contains(words), "{hindrance:?} {command:?}: {found}");
            assert!(!found.stderr.contains("its database ("), "{hindrance:?} {command:?}: {found}");
        }
        assert!(shut.contents() == before, "{hindrance:?}: something in the directory changed");
    }
}

/// A text without the times at which it was made, and the durations that depend on them.
fn timeless(text: &str) -> String {
    let is_moment = |word: &str| word.contains("looked_at") || word.contains("generated");
    text.split_inclusive([',', '\n']).filter(|part| !is_moment(part)).collect()
}

#[test]
fn the_web_interface_reads_one_copy_for_all_requests() {
    for hindrance in Hindrance::ALL {
        let Some(shut) = Shut::new(hindrance) else { continue };
        let (out, copies) = (shut.scene.out(), shut.scene.path("copies"));
        let (out, dir) = (out.to_str().expect("text"), copies.to_str().expect("text"));
        let port = free_port();
        let listen = format!("127.0.0.1:{port}");
        let server = shut.begin(&["serve", out, "--listen", &listen, "--snapshot-dir", dir]).start();
        assert!(body(port, "/api/v1/summary").contains("\"pages\":3"), "{hindrance:?}");
        assert_eq!(shut.copies().len(), 1, "{hindrance:?}");
        let first = shut.copies();
        assert!(body(port, "/search?q=hammers").contains("http://a.test/1"), "{hindrance:?}");
        assert!(body(port, "/table/pages").contains("http://a.test/3"), "{hindrance:?}");
        assert_eq!(shut.copies(), first, "{hindrance:?}: it is made once");
        server.signal("TERM");
        let output = server.wait(PATIENCE);
        assert!(output.expect(0).stderr.contains("its database ("), "{output}");
        assert!(shut.copies().is_empty(), "{hindrance:?}: {:?}", shut.copies());
    }
}

#[test]
fn a_copy_is_refused_where_it_has_no_space_and_where_it_cannot_be_written() {
    let Some(shut) = Shut::new(Hindrance::Mount) else { return };
    let (out, copies) = (shut.scene.out(), shut.scene.path("copies"));
    let (out, dir) = (out.to_str().expect("text"), copies.to_str().expect("text"));
    let small = format!("mount -t tmpfs -o size=64k none {dir}; {}", shut.hindrance.line(&shut.scene.out()));
    let line = format!("exec unshare -rm sh -c '{}' \"$0\" \"$@\"", small.replace('\'', "'\\''"));
    let found = Crawl::new(["show", out, "--snapshot-dir", dir]).under(&line).run();
    for words in ["has to be copied", "has 64.0 KiB free", "--snapshot-dir"] {
        assert!(found.expect(5).stderr.contains(words), "{words}: {found}");
    }
    let found = shut.run(&["show", out, "--snapshot-dir", &format!("{dir}/none")]);
    assert!(found.expect(5).stderr.contains("No such file"), "{found}");
    let found = shut.run(&["show", out, "--snapshot-dir", out]);
    assert!(found.expect(5).stderr.contains("Read-only file system"), "{found}");
    // Without the option it goes where the system has temporary files.
    let found = shut.begin(&["show", out]).env("TMPDIR", dir).run();
    assert!(found.expect(0).stderr.contains(&format!("is copied to {dir}/crawl-snapshot-")), "{found}");
    assert!(shut.copies().is_empty(), "{:?}", shut.copies());
}

#[test]
fn a_copy_goes_with_its_process_also_at_a_signal_and_the_next_one_removes_that_of_a_killed_one() {
    let Some(shut) = Shut::new(Hindrance::Mount) else { return };
    let (out, copies, pipe) = (shut.scene.out(), shut.scene.path("copies"), shut.scene.path("pipe"));
    let [out, dir, pipe] = [&out, &copies, &pipe].map(|path| path.to_str().expect("text"));
    let made = Command::new("mkfifo").arg(pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe can be made");
    // It waits for a reader of the pipe, which never comes.
    let waiting = || {
        let arguments =
            ["export", out, "--table", "pages", "--format", "csv", "-o", pipe, "--snapshot-dir", dir];
        let running = shut.begin(&arguments).start();
        for _ in 0..1_000 {
            if shut.copies().iter().any(|copy| copy.join("db/sealed").exists() && copy.join(".lock").exists())
            {
                return running;
            }
            pause(Duration::from_millis(20));
        }
        panic!("no copy is made: {}", running.kill());
    };
    for (signal, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let running = waiting();
        running.signal(signal);
        running.wait(PATIENCE).expect(code);
        assert!(shut.copies().is_empty(), "{signal}: {:?}", shut.copies());
    }
    let (killed, other) = (waiting(), shut.scene.path("copies/crawl-snapshot-of-somebody"));
    fs::create_dir(&other).expect("it can be made");
    killed.kill();
    assert_eq!(shut.copies().len(), 2);
    let used = waiting();
    assert_eq!(shut.copies().len(), 2, "that of the killed process is gone");
    shut.run(&["show", out, "--snapshot-dir", dir]).expect(0);
    assert_eq!(shut.copies().len(), 2, "one that is used, or that nobody ever locked, stays");
    used.signal("TERM");
    used.wait(PATIENCE).expect(143);
    assert_eq!(shut.copies(), [other]);
}

#[test]
fn a_running_crawl_answers_on_a_read_only_mount_and_nothing_is_copied() {
    let scene = Scene::new(Sites::new().tree("a.test", 4_000, Duration::from_millis(5)));
    let out = scene.out();
    let running = scene.crawl().args(["--timeout", "1s"]).start();
    wait_for(&scene, 30);
    pause(Duration::from_millis(300));
    if Hindrance::Mount.can_be_made(&out) {
        for command in ["show", "status", "audit"] {
            let looked = Crawl::new([Path::new(command), &out]).under(&Hindrance::Mount.line(&out)).run();
            assert!(!looked.expect(0).stderr.contains("copied"), "{looked}");
        }
        let status = Crawl::new([Path::new("status"), &out]).args(["--json"]);
        let status = status.under(&Hindrance::Mount.line(&out)).run();
        assert_eq!(status.expect(0).json()[0]["state"], "running", "{status}");
    }
    if Hindrance::OtherUser.can_be_made(&out) {
        set_mode(&scene.path(""), 0o755);
        let looked = Crawl::new([Path::new("show"), &out]).under(&Hindrance::OtherUser.line(&out)).run();
        assert!(looked.expect(5).stderr.contains("another user's crawl runs here"), "{looked}");
    }
    running.signal("TERM");
    running.wait(PATIENCE).expect(11);
}

#[test]
fn a_link_in_a_directory_that_cannot_be_written_is_refused_before_anything_is_copied() {
    let Some(shut) = Shut::new(Hindrance::Mount) else { return };
    let (out, secret) = (shut.scene.out(), shut.scene.path("secret"));
    fs::write(&secret, "zq-secret-qz").expect("it can be written");
    let copies = shut.scene.path("copies");
    let arguments = ["show", out.to_str().expect("text"), "--snapshot-dir", copies.to_str().expect("text")];
    for place in ["db/blobs/link", "db/link", "index/link", "warc/link", "db.old"] {
        let link = out.join(place);
        fs::create_dir_all(out.join("db/blobs")).expect("it can be made");
        symlink(&secret, &link).expect("a link");
        let found = shut.run(&arguments);
        assert!(found.expect(5).stderr.contains("symbolic link"), "{place}: {found}");
        assert!(!found.stderr.contains("its database ("), "{place}: {found}");
        fs::remove_file(&link).expect("it can be removed");
    }
    shut.run(&arguments).expect(0);
}

#[test]
fn what_may_not_be_read_is_called_that() {
    let Some(shut) = Shut::new(Hindrance::OtherUser) else { return };
    let (out, copies) = (shut.scene.out(), shut.scene.path("copies"));
    let (text, dir) = (out.to_str().expect("text"), copies.to_str().expect("text"));
    let closed = |path: &Path, command: &str, file: &str| {
        let mode = fs::metadata(path).expect("it is there").permissions().mode();
        set_mode(path, 0o600);
        let arguments: &[&str] = match command {
            "search" => &["search", text, "hammers"],
            "explain" => &["explain", text, "http://a.test/1", "--snapshot-dir", dir],
            _ => &[command, text, "--snapshot-dir", dir],
        };
        let found = shut.run(arguments);
        set_mode(path, mode);
        let is_said = found.stderr.contains("Permission denied") && found.stderr.contains(file);
        assert!(found.code == Some(5) && is_said, "{command} {}: {found}", path.display());
        assert!(shut.copies().is_empty(), "{:?}", shut.copies());
    };
    for command in ["show", "status", "audit", "explain", "search"] {
        closed(&out, command, "out");
    }
    for command in ["show", "status", "audit", "explain"] {
        closed(&out.join("db"), command, "db");
        closed(&out.join("db/db"), command, "db/db");
        closed(&out.join(".lock"), command, ".lock");
    }
    closed(&out.join("index"), "search", "index");
    closed(&out.join("index/meta.json"), "search", "meta.json");
    for file in
        fs::read_dir(out.join("index")).expect("an index").map(|entry| entry.expect("an entry").path())
    {
        if file.extension().is_some_and(|end| end == "term" || end == "store") {
            closed(&file, "search", "");
        }
    }
}
