//! The file of passwords that the programs of PostgreSQL read: `PGPASSFILE`, by default `~/.pgpass`
//! (PostgreSQL manual, "The Password File").

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// Bytes that are read of the file.
const MOST: u64 = 1 << 20;

/// Directories of Unix sockets whose servers the file calls `localhost`: the usual ones, as PostgreSQL is built by itself and by distributions.
const USUAL_SOCKETS: [&str; 3] = ["/tmp", "/var/run/postgresql", "/run/postgresql"];

/// A connection that a password is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// A name, an address, or the directory of a Unix socket.
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

/// What the file has, or why it isn't used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Password(Vec<u8>),
    Nothing,
    /// It isn't used, in words for people.
    Unused(String),
}

/// The file's path: `PGPASSFILE`, or `.pgpass` in the home directory; none where neither is set.
pub(super) fn path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PGPASSFILE").or_else(|| Some(set("HOME")?.join(".pgpass")))
}

/// Looks the connections up in their order; the password of the first that has one. A file that its group or others may read isn't used, nor
/// anything but a regular file.
pub(super) fn look_up(path: &PathBuf, wanted: &[Wanted<'_>]) -> Found {
    let unused = |why: &str| Found::Unused(format!("the password file {} isn't used: {why}", path.display()));
    // Looked at before it is opened: a pipe would keep this waiting.
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Nothing,
        Err(error) => return unused(&error.to_string()),
        Ok(about) if !about.is_file() => return unused("it is no regular file"),
        Ok(about) if about.mode() & 0o077 != 0 => {
            return unused("its group or others have access; run `chmod 600` on it");
        }
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut bytes)) {
        Err(error) => unused(&error.to_string()),
        Ok(_) => {
            wanted.iter().find_map(|wanted| password(&bytes, wanted)).map_or(Found::Nothing, Found::Password)
        }
    }
}

/// The password in the first line whose fields match.
fn password(file: &[u8], wanted: &Wanted<'_>) -> Option<Vec<u8>> {
    let port = wanted.port.to_string();
    let host = if USUAL_SOCKETS.contains(&wanted.host) { "localhost" } else { wanted.host };
    let fields = [host, &port, wanted.database, wanted.user];
    file.split(|byte| *byte == b'\n').find_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.starts_with(b"#") {
            return None;
        }
        let mut rest = line;
        for value in fields {
            let field = field(rest);
            if field.raw != b"*" && field.value != value.as_bytes() {
                return None;
            }
            rest = field.behind?;
        }
        Some(field(rest).value).filter(|password| !password.is_empty())
    })
}

/// A field of a line.
struct Field<'a> {
    /// As it is.
    raw: &'a [u8],
    /// Without its backslashes.
    value: Vec<u8>,
    /// What follows its colon; none where there is no colon.
    behind: Option<&'a [u8]>,
}

/// The first field of a line.
fn field(line: &[u8]) -> Field<'_> {
    let mut value = Vec::new();
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match byte {
            b':' => return Field { raw: &line[..at], value, behind: Some(&line[at + 1..]) },
            b'\\' if at + 1 < line.len() => {
                at += 1;
                value.push(line[at]);
            }
            byte => value.push(*byte),
        }
        at += 1;
    }
    Field { raw: line, value, behind: None }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const FILE: &str = "\
# host:port:database:user:password
db.example:5432:study:crawl:first
db.example:*:study:crawl:other port
db.example:5432:*:ann:with\\:colon and \\\\
*:5432:study:bob:any host
localhost:5432:study:crawl:socket
/srv/sockets:5432:study:crawl:own socket
odd\\:host:5432:study:crawl:odd
db2.example:5432:study:crawl:carriage return\r
short:5432:study
db3.example:5432:study:crawl:
";

    /// The examples follow the manual: `hostname:port:database:username:password`, `*` for any, backslashes before `:` and `\\`, the first line counts.
    #[test]
    fn the_first_line_that_matches_has_the_password() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pass");
        fs::write(&path, FILE).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for (host, port, user, password) in [
            ("db.example", 5432, "crawl", Some("first")),
            ("db.example", 6543, "crawl", Some("other port")),
            ("db.example", 5432, "ann", Some("with:colon and \\")),
            ("anything", 5432, "bob", Some("any host")),
            ("localhost", 5432, "crawl", Some("socket")),
            ("/var/run/postgresql", 5432, "crawl", Some("socket")),
            ("/srv/sockets", 5432, "crawl", Some("own socket")),
            ("odd:host", 5432, "crawl", Some("odd")),
            ("db2.example", 5432, "crawl", Some("carriage return")),
            ("short", 5432, "crawl", None),
            ("db3.example", 5432, "crawl", None),
            ("# host", 5432, "crawl", None),
            ("db.example", 5432, "eve", None),
        ] {
            let wanted = Wanted { host, port, database: "study", user };
            let found = look_up(&path, &[wanted]);
            let expected =
                password.map_or(Found::Nothing, |password| Found::Password(password.as_bytes().to_vec()));
            assert_eq!(found, expected, "{wanted:?}");
        }
        let of = |host| Wanted { host, port: 5432, database: "study", user: "crawl" };
        let found = look_up(&path, &[of("db9.example"), of("db2.example"), of("db.example")]);
        assert_eq!(found, Found::Password(b"carriage return".to_vec()));
    }

    #[test]
    fn a_file_that_others_may_read_is_not_used_and_a_missing_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pass");
        let wanted = Wanted { host: "h", port: 5432, database: "d", user: "u" };
        assert_eq!(look_up(&path, &[wanted]), Found::Nothing);
        fs::write(&path, "*:*:*:*:secret\n").unwrap();
        for (mode, is_used) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false)]
        {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let found = look_up(&path, &[wanted]);
            if is_used {
                assert_eq!(found, Found::Password(b"secret".to_vec()), "{mode:o}");
            } else {
                assert!(
                    matches!(&found, Found::Unused(why) if why.contains("chmod 600")),
                    "{mode:o}: {found:?}"
                );
            }
        }
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(matches!(look_up(&pipe, &[wanted]), Found::Unused(_)));
    }

    #[test]
    fn the_variable_names_the_file_and_the_home_directory_has_it_else() {
        let of = |set: &[(&str, &str)]| {
            let set: Vec<(String, OsString)> =
                set.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
            path(move |name| set.iter().find(|(set, _)| set == name).map(|(_, value)| value.clone()))
        };
        assert_eq!(of(&[("PGPASSFILE", "/a/b"), ("HOME", "/home/x")]), Some("/a/b".into()));
        assert_eq!(of(&[("PGPASSFILE", ""), ("HOME", "/home/x")]), Some("/home/x/.pgpass".into()));
        assert_eq!(of(&[]), None);
    }
}
