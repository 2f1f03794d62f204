//! A service on loopback that speaks as much of the S3 protocol as object storage for archives needs, and may fail.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// What the service has.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    /// Objects by their path: `/BUCKET/KEY`.
    pub(crate) objects: BTreeMap<String, Vec<u8>>,
    /// Uploads in parts that are neither complete nor aborted: the path, and the parts by number.
    pub(crate) uploads: BTreeMap<String, (String, BTreeMap<u32, Vec<u8>>)>,
    /// Requests that are answered with 500 from now on, if their line contains this text.
    pub(crate) fails: Option<(String, usize)>,
    /// Requests, as their first lines say.
    pub(crate) requests: Vec<String>,
    /// Requests without a signature.
    pub(crate) unsigned: usize,
    /// When each object was stored: a second later than the one before.
    times: BTreeMap<String, u32>,
    next: u32,
}

/// The service.
pub(crate) struct Service {
    port: u16,
    stored: Arc<Mutex<Stored>>,
}

impl Service {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stored = Arc::new(Mutex::new(Stored::default()));
        let shared = Arc::clone(&stored);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let stored = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &stored));
            }
        });
        Self { port, stored }
    }

    pub(crate) fn stored(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap()
    }

    /// The variables that name the service and its credentials.
    pub(crate) fn environment(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_ACCESS_KEY_ID", "key".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
            ("AWS_REGION", "test-1".to_owned()),
        ]
    }
}

fn serve(stream: &TcpStream, stored: &Mutex<Stored>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let (mut length, mut is_signed, mut range) = (0, false, None);
        loop {
            let mut field = String::new();
            if reader.read_line(&mut field).unwrap_or(0) == 0 || field.trim().is_empty() {
                break;
            }
            let (name, value) = field.split_once(':').unwrap();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "authorization" => is_signed = value.trim().starts_with("AWS4-HMAC-SHA256 Credential=key/"),
                "range" => range = value.trim().strip_prefix("bytes=").map(str::to_owned),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let (status, fields, answer) = {
            let mut stored = stored.lock().unwrap();
            stored.unsigned += usize::from(!is_signed);
            stored.requests.push(line.trim_end().to_owned());
            stored.answer(&line, body, range.as_deref())
        };
        let is_head = line.starts_with("HEAD ");
        let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n{fields}\r\n", answer.len());
        let mut out = head.into_bytes();
        if !is_head {
            out.extend(answer);
        }
        let mut stream = stream;
        if stream.write_all(&out).is_err() {
            return;
        }
    }
}

type Answer = (u16, String, Vec<u8>);

fn missing() -> Answer {
    (404, String::new(), b"<Error><Code>NoSuchKey</Code></Error>".to_vec())
}

impl Stored {
    fn store(&mut self, path: String, bytes: Vec<u8>) {
        self.next += 1;
        self.times.insert(path.clone(), self.next);
        self.objects.insert(path, bytes);
    }

    fn answer(&mut self, line: &str, body: Vec<u8>, range: Option<&str>) -> Answer {
        if let Some((text, times)) = &mut self.fails
            && *times > 0
            && line.contains(text.as_str())
        {
            *times -= 1;
            return (500, String::new(), b"<Error><Code>InternalError</Code></Error>".to_vec());
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parameter = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let upload = parameter("uploadId").map(str::to_owned);
        match (method, upload) {
            ("POST", None) if query == "uploads" || query == "uploads=" => {
                self.next += 1;
                let id = format!("u{}", self.next);
                self.uploads.insert(id.clone(), (path.to_owned(), BTreeMap::new()));
                let xml = format!(
                    "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                );
                (200, String::new(), xml.into_bytes())
            }
            ("PUT", Some(id)) => {
                let Some((_, parts)) = self.uploads.get_mut(&id) else { return missing() };
                let number = parameter("partNumber").unwrap();
                parts.insert(number.parse().unwrap(), body);
                (200, "ETag: \"part\"\r\n".to_owned(), Vec::new())
            }
            ("POST", Some(id)) => {
                let Some((path, parts)) = self.uploads.remove(&id) else { return missing() };
                self.store(path, parts.into_values().flatten().collect());
                let xml = "<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>";
                (200, String::new(), xml.as_bytes().to_vec())
            }
            ("DELETE", Some(id)) => match self.uploads.remove(&id) {
                Some(_) => (204, String::new(), Vec::new()),
                None => missing(),
            },
            ("PUT", None) => {
                self.store(path.to_owned(), body);
                (200, "ETag: \"e\"\r\n".to_owned(), Vec::new())
            }
            ("GET" | "HEAD", None) => {
                let Some(object) = self.objects.get(path) else { return missing() };
                let time = self.times[path];
                let fields = format!(
                    "ETag: \"{time}\"\r\nLast-Modified: Thu, 01 Jan 2026 00:{:02}:{:02} GMT\r\n",
                    time / 60 % 60,
                    time % 60
                );
                let Some(range) = range else { return (200, fields, object.clone()) };
                let (start, end) = range.split_once('-').unwrap();
                let (start, end): (usize, usize) = (start.parse().unwrap(), end.parse().unwrap());
                let end = end.min(object.len() - 1);
                let fields = format!("{fields}Content-Range: bytes {start}-{end}/{}\r\n", object.len());
                (206, fields, object[start..=end].to_vec())
            }
            _ => (400, String::new(), Vec::new()),
        }
    }
}
