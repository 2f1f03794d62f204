//! What goes into the archive, compared with what servers sent, byte for byte.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use crawler::warc::{Reader, Record};
use whole_program::output_dir::files;
use whole_program::program::Crawl;

/// A server that answers each path with exact bytes, and everything else with 404; serves until the test ends.
fn serve(answers: Vec<(&'static str, Vec<u8>)>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let path = head.split(' ').nth(1).unwrap_or_default();
            let answer =
                answers.iter().find(|(known, _)| *known == path).map(|(_, answer)| answer.as_slice());
            let missing = b"HTTP/1.1 404 Nothing Here\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
            // The client may be gone.
            drop(stream.write_all(answer.unwrap_or(missing)));
        }
    });
    address
}

/// Every record of an archive, in the order of its files.
fn records(out: &Path) -> Vec<Record> {
    files(&out.join("warc"))
        .iter()
        .filter(|path| path.to_string_lossy().ends_with(".warc.gz"))
        .flat_map(|path| Reader::open(path).unwrap().map(Result::unwrap))
        .collect()
}

/// The record of a type about a URL.
fn record<'a>(records: &'a [Record], kind: &str, url: &str) -> &'a Record {
    let is_it = |record: &&Record| record.kind() == kind && record.field("WARC-Target-URI") == Some(url);
    records.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} of {url}"))
}

fn crawl(address: SocketAddr, directory: &Path) -> Crawl {
    std::fs::write(directory.join("seeds.txt"), "http://a.test/\n").unwrap();
    Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0", "--retries", "0"])
        .args([Path::new("--seed"), &directory.join("seeds.txt"), Path::new("--out"), &directory.join("out")])
        .args(["--resolve", &format!("a.test:{address}")])
}

#[test]
fn heads_are_archived_as_they_were_sent() {
    let plain = "HTTP/1.1 200 All Is Well\r\nSERVER:x\r\nset-COOKIE: a\r\nX-Empty:\r\nSet-Cookie: b\r\nConnection: close\r\n\
                 CONTENT-type: text/html\r\nContent-length: 25\r\n\r\n";
    let body = "<a href=/chunked>next</a>";
    let chunked = "HTTP/1.1 203 Second Hand\r\ncontent-Type: text/html\r\nTransfer-encoding: chunked\r\nConnection: close\r\n\r\n\
                   3\r\n<p>\r\n4;x\r\ntext\r\n0\r\n\r\n";
    let address = serve(vec![("/", format!("{plain}{body}").into()), ("/chunked", chunked.into())]);
    let directory = tempfile::tempdir().unwrap();
    crawl(address, directory.path()).run().expect(0);
    let records = records(&directory.path().join("out"));

    let response = record(&records, "response", "http://a.test/");
    assert_eq!(String::from_utf8_lossy(&response.block), format!("{plain}{body}"));
    let info = records[0].field("WARC-Record-ID");
    for (name, value) in [
        ("WARC-Protocol", Some("http/1.1")),
        ("WARC-IP-Address", Some("127.0.0.1")),
        ("WARC-Cipher-Suite", None),
        ("WARC-Warcinfo-ID", info),
    ] {
        assert_eq!(response.field(name), value, "{name}");
    }
    let request = record(&records, "request", "http://a.test/");
    let sent = String::from_utf8_lossy(&request.block);
    assert!(sent.starts_with("GET / HTTP/1.1\r\nhost: a.test\r\nuser-agent: SuperRobot/1.0\r\n"), "{sent}");

    let response = record(&records, "response", "http://a.test/chunked");
    let stored = "HTTP/1.1 203 Second Hand\r\ncontent-Type: text/html\r\nX-Archive-Orig-Transfer-encoding: chunked\r\n\
                  Connection: close\r\nContent-Length: 7\r\n\r\n<p>text";
    assert_eq!(String::from_utf8_lossy(&response.block), stored);
    Crawl::new([Path::new("audit"), &directory.path().join("out")]).run().expect(0);
}
