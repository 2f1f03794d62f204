//! Files that a user names for output: what isn't a regular file stays what it is, and is written to.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, makedev, mknodat};
use whole_program::program::Crawl;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// What writes a file of this name; `DIR` is the crawl's directory, `FILE` the output.
const COMMANDS: [&[&str]; 10] = [
    &["export", "DIR", "--table", "pages", "--format", "csv", "-o", "FILE"],
    &["export", "DIR", "--table", "links", "--format", "jsonl", "-o", "FILE"],
    &["export", "DIR", "--table", "pages", "--format", "parquet", "-o", "FILE"],
    &["export", "DIR", "--table", "hosts", "--format", "graphml", "-o", "FILE"],
    &["export", "DIR", "--format", "sqlite", "-o", "FILE"],
    &["export", "DIR", "--format", "cdxj", "-o", "FILE"],
    &["export", "DIR", "--format", "wacz", "-o", "FILE"],
    &["report", "DIR", "-o", "FILE"],
    &["report", "DIR", "--host", "a.test", "-o", "FILE"],
    &["report", "DIR", "--json", "-o", "FILE"],
];

/// What writes files of its own names into a directory, and one of these names.
const IN_DIRECTORIES: [(&[&str], &str); 3] = [
    (&["export", "DIR", "--format", "csv", "-o", "FILE"], "pages.csv"),
    (&["report", "DIR", "--provenance", "FILE"], "report.html"),
    (&["man", "--all", "FILE"], "crawl.1"),
];

fn run(scene: &Scene, command: &[&str], file: &Path) {
    let words = command.iter().map(|word| match *word {
        "DIR" => scene.out().into_os_string(),
        "FILE" => file.as_os_str().to_owned(),
        word => word.into(),
    });
    Crawl::new(words).run().expect(0);
}

#[test]
fn what_is_no_regular_file_stays_what_it_is_and_gets_the_output() {
    let scene =
        Scene::new(Sites::new().page("a.test", "/", Answer::html("<title>t</title><a href=/b>b</a>")));
    scene.crawl().run().expect(0);
    for (number, command) in COMMANDS.into_iter().enumerate() {
        let at = |name: &str| scene.path(&format!("{number}-{name}"));
        let (plain, target, link, pipe) = (at("plain"), at("target"), at("link"), at("pipe"));
        fs::write(&plain, "before").unwrap();
        run(&scene, command, &plain);
        let begins = fs::read(&plain).unwrap()[..4].to_vec();
        assert_ne!(begins, b"befo", "{command:?}");

        fs::write(&target, "before").unwrap();
        let inode = target.metadata().unwrap().ino();
        symlink(target.file_name().unwrap(), &link).unwrap();
        run(&scene, command, &link);
        assert!(link.symlink_metadata().unwrap().is_symlink(), "{command:?}");
        assert_eq!(target.metadata().unwrap().ino(), inode, "{command:?}");
        assert_eq!(fs::read(&target).unwrap()[..4], begins, "{command:?}");

        mknodat(CWD, &pipe, FileType::Fifo, 0o600.into(), 0).unwrap();
        let from = pipe.clone();
        let reader = std::thread::spawn(move || {
            let mut got = Vec::new();
            File::open(from).unwrap().read_to_end(&mut got).unwrap();
            got
        });
        run(&scene, command, &pipe);
        assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo(), "{command:?}");
        assert_eq!(reader.join().unwrap()[..4], begins, "{command:?}");

        // The device that takes everything, under a name of this test's own: only root may make one, and not everywhere.
        let device = at("device");
        let made = mknodat(CWD, &device, FileType::CharacterDevice, 0o600.into(), makedev(1, 3));
        if made.is_ok() && File::options().write(true).open(&device).is_ok() {
            run(&scene, command, &device);
            let about = device.symlink_metadata().unwrap();
            assert!(about.file_type().is_char_device() && about.rdev() == makedev(1, 3), "{command:?}");
        }
        let left: Vec<_> = fs::read_dir(scene.path("."))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| name.to_string_lossy().ends_with(".part"))
            .collect();
        assert!(left.is_empty(), "{command:?}: {left:?}");
    }
    for (number, (command, name)) in IN_DIRECTORIES.into_iter().enumerate() {
        let (dir, target) = (scene.path(&format!("dir-{number}")), scene.path(&format!("of-dir-{number}")));
        fs::create_dir(&dir).unwrap();
        fs::write(&target, "before").unwrap();
        symlink(&target, dir.join(name)).unwrap();
        run(&scene, command, &dir);
        assert!(dir.join(name).symlink_metadata().unwrap().is_symlink(), "{command:?}");
        assert_ne!(fs::read(&target).unwrap()[..4], *b"befo", "{command:?}");
    }
}
