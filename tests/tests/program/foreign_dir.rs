//! A crawl's directory that comes from somebody else chooses no file outside of it: by symbolic links, by its `crawl.toml`, or by its index.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use whole_program::program::Crawl;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

fn scene() -> Scene {
    let links = (0..9).map(|number| format!("<a href=/{number}>page</a> ")).collect::<Vec<_>>().concat();
    let mut sites = Sites::new().page("a.test", "/", Answer::html(links.as_str()));
    for number in 0..9 {
        sites = sites.page("a.test", &format!("/{number}"), Answer::html("<title>page</title>words"));
    }
    let scene = Scene::new(sites);
    scene.crawl().args(["--max-pages", "3"]).run().expect(10);
    fs::create_dir(scene.path("home")).expect("it can be made");
    fs::write(scene.path("home/thesis.tex"), "precious ".repeat(10_000)).expect("it can be written");
    fs::write(scene.path("home/.bashrc"), "# mine\n").expect("it can be written");
    scene
}

/// Everything below a directory: path, and the bytes of a file.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let bytes = fs::read(&path).expect("a file");
                found.insert(path, bytes);
            }
        }
    }
    found
}

/// Replaces what is at a path by a link.
fn link(path: &Path, target: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).expect("it can be removed");
    } else if path.exists() {
        fs::remove_file(path).expect("it can be removed");
    }
    symlink(target, path).expect("a link");
}

fn archive_file(out: &Path) -> PathBuf {
    let files =
        fs::read_dir(out.join("warc")).expect("an archive").map(|entry| entry.expect("an entry").path());
    files.filter(|path| path.to_string_lossy().ends_with(".warc.gz")).min().expect("an archive file")
}

/// The commands that are given the directory of a crawl, with arguments that would let them work.
const COMMANDS: [(&str, &[&str]); 19] = [
    ("resume", &[]),
    ("resume", &["--no-index", "--max-pages", "8"]),
    ("recrawl", &[]),
    ("forget", &["a.test", "--reason", "asked for"]),
    ("show", &[]),
    ("show", &["pages"]),
    ("export", &["--table", "pages", "--format", "csv"]),
    ("export", &["--format", "cdxj", "-o", "-"]),
    ("index", &[]),
    ("search", &["words"]),
    ("audit", &[]),
    ("explain", &["http://a.test/1"]),
    ("diff", &["OUT"]),
    ("report", &["-o", "-"]),
    ("status", &[]),
    ("stop", &[]),
    ("serve", &["--listen", "127.0.0.1:0"]),
    ("repair", &["--out", "NEW"]),
    ("plan", &[]),
];

#[test]
fn nothing_in_a_crawls_directory_is_opened_through_a_symbolic_link() {
    let scene = scene();
    let out = scene.out();
    let (file, dir) = (scene.path("home/thesis.tex"), scene.path("home"));
    let whole = scene.path("whole");
    let copied = std::process::Command::new("cp").arg("-a").args([&out, &whole]).status().expect("cp");
    assert!(copied.success());
    let archive = archive_file(&out);
    let archive = archive.strip_prefix(&out).expect("in it").to_string_lossy().into_owned();
    let places: [(&str, &Path); 12] = [
        (&archive, &file),
        ("warc", &dir),
        ("log/crawl.jsonl", &scene.path("home/.bashrc")),
        ("log", &dir),
        ("index", &dir),
        ("index/meta.json", &file),
        ("db/db", &file),
        ("db.scrubbed", &dir),
        ("crawl.toml", &file),
        ("crawl.toml.part", &file),
        (".lock", &file),
        ("reading", &scene.path("home/new")),
    ];
    for (place, target) in places {
        for (command, arguments) in COMMANDS {
            fs::remove_dir_all(&out).expect("it can be removed");
            let copied =
                std::process::Command::new("cp").arg("-a").args([&whole, &out]).status().expect("cp");
            assert!(copied.success());
            link(&out.join(place), target);
            let before = contents(&dir);
            let arguments = arguments.iter().map(|argument| match *argument {
                "NEW" => scene.path("new"),
                "OUT" => out.clone(),
                argument => argument.into(),
            });
            let crawl = match command {
                "plan" => Crawl::new([Path::new("plan"), Path::new("--offline"), &out]),
                "diff" => Crawl::new([Path::new("diff"), &whole]),
                command => Crawl::new([Path::new(command), &out]),
            };
            let output = crawl.args(arguments).run();
            assert_eq!(contents(&dir), before, "{command} changed what {place} leads to: {output}");
            output.expect(5);
            let says = output.stderr.contains("is a symbolic link") && output.stderr.contains(place);
            assert!(says, "{command} with {place}: {output}");
        }
    }
}

#[test]
fn a_new_crawl_is_not_begun_where_a_link_leads_away() {
    let scene = scene();
    let before = contents(&scene.path("home"));
    for place in ["warc", "log", "db.new", "crawl.toml", ".lock"] {
        let new = scene.path("new");
        fs::create_dir(&new).expect("it can be made");
        link(&new.join(place), &scene.path("home"));
        let output = Crawl::new(["--agent", "SuperRobot/1.0"])
            .args([Path::new("--seed"), &scene.seeds(), Path::new("--out"), &new])
            .args(scene.server.resolve())
            .run();
        assert!(output.expect(5).stderr.contains("is a symbolic link"), "{place}: {output}");
        assert_eq!(contents(&scene.path("home")), before, "{place}");
        fs::remove_dir_all(&new).expect("it can be removed");
    }
}

#[test]
fn the_index_of_a_foreign_directory_deletes_no_file_outside_of_it() {
    let scene = scene();
    let list = scene.out().join("index/.managed.json");
    let text = fs::read_to_string(&list).expect("the list of files");
    let outside = scene.path("home/thesis.tex");
    let mut names: Vec<String> = serde_json::from_str(&text).expect("a list");
    names.extend(["../../home/.bashrc".to_owned(), outside.display().to_string()]);
    fs::write(&list, serde_json::to_vec(&names).expect("JSON")).expect("it can be written");
    let before = contents(&scene.path("home"));
    scene.resume().args(["--max-pages", "8"]).run().expect(10);
    scene.look("search", &["words"]).expect(0);
    scene.look("index", &[]).expect(0);
    assert_eq!(contents(&scene.path("home")), before);
}

#[test]
fn paths_outside_count_from_a_file_that_the_user_names_and_not_from_the_own_one() {
    let scene = scene();
    let earlier = scene.path("earlier");
    let crawled = Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0"])
        .args([Path::new("--seed"), &scene.seeds(), Path::new("--out"), &earlier])
        .args(scene.server.resolve())
        .run();
    crawled.expect(0);
    let own = scene.out().join("crawl.toml");
    let text = fs::read_to_string(&own).expect("the settings");
    let addresses = scene.path("home/thesis.tex");
    let changed = text
        .replace("dedup = \"off\"", &format!("dedup = [{earlier:?}]"))
        .replace("resolve_file = \"\"", &format!("resolve_file = {addresses:?}"))
        .replace("directory = \"\"", &format!("directory = {:?}", scene.path("home")));
    assert_ne!(changed, text);
    assert!(changed.contains("thesis.tex"), "{changed}");
    fs::write(&own, changed).expect("it can be written");

    // Neither is the file with addresses read (its first line is none), nor the other archive.
    let output = scene.resume().args(["--max-pages", "5"]).run();
    output.expect(10);
    for key in ["fetch.resolve_file", "warc.dedup", "costly.directory"] {
        let line = output.stderr.lines().find(|line| line.contains(key));
        let line = line.unwrap_or_else(|| panic!("{key}: {output}"));
        assert!(line.contains("counts only from a file given with --config"), "{line}");
    }
    assert!(!output.stderr.contains("precious"), "{output}");
    for command in ["show", "audit", "index"] {
        assert!(!scene.look(command, &[]).stderr.contains("thesis.tex"), "{command}");
    }

    // The user's own choice counts.
    let config = scene.path("mine.toml");
    fs::write(&config, format!("[warc]\ndedup = [{:?}]\n[pace]\ndelay = \"1h\"\n", scene.path("none")))
        .expect("it can be written");
    let output = scene.resume().args(["--max-pages", "8", "--config"]).args([&config]).run();
    assert!(output.expect(3).stderr.contains("none"), "{output}");
    fs::write(&config, format!("[warc]\ndedup = [{earlier:?}]\n")).expect("it can be written");
    let output = scene.resume().args(["--max-pages", "8", "--config"]).args([&config]).run();
    output.expect(10);
    assert!(!output.stderr.contains("warc.dedup"), "{output}");
}

#[test]
fn an_export_into_a_foreign_directory_overwrites_nothing_outside_of_it() {
    let scene = scene();
    let before = contents(&scene.path("home"));
    let exports = scene.out().join("exports");
    fs::create_dir(&exports).expect("it can be made");
    for (format, name) in [("csv", "pages.csv"), ("sqlite", "crawl.db"), ("wacz", "crawl.wacz")] {
        for end in ["", ".part"] {
            let place = exports.join(format!("{name}{end}"));
            link(&place, &scene.path("home/thesis.tex"));
            let table: &[&str] = if format == "csv" { &["--table", "pages"] } else { &[] };
            let output = exports.join(name).display().to_string();
            scene.look("export", &[&["--format", format, "-o", &output], table].concat()).expect(0);
            assert_eq!(contents(&scene.path("home")), before, "{format}: {name}{end}");
            assert!(!exports.join(name).is_symlink(), "{format}: {name}{end}");
        }
    }
}
