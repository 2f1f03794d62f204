//! The ZIP file: its members with their digests, and the two files that describe them.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use jiff::Timestamp;
use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use ring::digest::{Context, SHA256};
use serde_json::{Value, json};

use super::pages::Listed;
use super::sign::SigningKey;
use super::{VERSION, WaczError};

/// Name and version of the program.
const SOFTWARE: &str = concat!("crawl ", env!("CARGO_PKG_VERSION"));

/// How a member is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// As it is: what is read by offsets, or compressed already.
    Stored,
    /// Compressed.
    Deflated,
}

/// A WACZ file that is being written. Its members have their sizes behind them, so it is written to anything; sizes and offsets above 4 GiB are
/// written as ZIP64.
#[derive(Debug)]
pub(super) struct Package<W> {
    zip: ZipArchiveWriter<W>,
    now: Timestamp,
    resources: Vec<Value>,
}

impl<W: Write> Package<W> {
    pub(super) fn new(out: W, now: Timestamp) -> Self {
        Self { zip: ZipArchiveWriter::new(out), now, resources: Vec::new() }
    }

    /// Writes a member, which `datapackage.json` lists.
    pub(super) fn member(
        &mut self,
        path: &str,
        packing: Packing,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), WaczError>,
    ) -> Result<(), WaczError> {
        let (digest, bytes) = self.entry(path, packing, fill)?;
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        self.resources.push(json!({ "name": name, "path": path, "hash": digest, "bytes": bytes }));
        Ok(())
    }

    fn entry(
        &mut self,
        path: &str,
        packing: Packing,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), WaczError>,
    ) -> Result<(String, u64), WaczError> {
        let method = match packing {
            Packing::Stored => CompressionMethod::STORE,
            Packing::Deflated => CompressionMethod::DEFLATE,
        };
        let at = UtcDateTime::from_unix(self.now.as_second());
        let builder = self.zip.new_file(path).compression_method(method).last_modified(at);
        let (mut entry, config) = builder.unix_permissions(0o644).start()?;
        let (written, output) = match packing {
            Packing::Stored => {
                let mut out = Hashed::new(config.wrap(&mut entry));
                fill(&mut out)?;
                let (inner, written) = out.end();
                (written, inner.finish()?.1)
            }
            Packing::Deflated => {
                let encoder = DeflateEncoder::new(&mut entry, Compression::default());
                let mut out = Hashed::new(config.wrap(encoder));
                fill(&mut out)?;
                let (inner, written) = out.end();
                let (encoder, output) = inner.finish()?;
                encoder.finish()?;
                (written, output)
            }
        };
        entry.finish(output)?;
        Ok(written)
    }

    /// Writes the description of the members, its digest, and the end of the file; returns the digest.
    pub(super) fn finish(
        mut self,
        crawls: &[Value],
        main: Option<&Listed>,
        key: Option<&SigningKey>,
    ) -> Result<String, WaczError> {
        let created = self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let title = match (main, crawls.len()) {
            (Some(main), 1) => format!("Crawl of {}", main.url),
            (Some(main), count) => format!("{count} crawls, the first of {}", main.url),
            (None, 1) => "Crawl".to_owned(),
            (None, count) => format!("{count} crawls"),
        };
        let mut package = json!({
            "profile": "data-package",
            "title": title,
            "created": created,
            "wacz_version": VERSION,
            "software": SOFTWARE,
            "crawls": crawls,
            "resources": std::mem::take(&mut self.resources),
        });
        if let Some(main) = main {
            package["mainPageUrl"] = json!(main.url);
            package["mainPageDate"] = json!(main.ts);
        }
        let package = serde_json::to_vec_pretty(&package)?;
        let (digest, _) =
            self.entry("datapackage.json", Packing::Stored, |out| Ok(out.write_all(&package)?))?;
        let mut signed = json!({ "path": "datapackage.json", "hash": digest });
        if let Some(key) = key {
            signed["signedData"] = json!({
                "hash": digest,
                "created": created,
                "software": SOFTWARE,
                "publicKey": key.public(),
                "signature": key.sign(&digest),
            });
        }
        let signed = serde_json::to_vec_pretty(&signed)?;
        self.entry("datapackage-digest.json", Packing::Stored, |out| Ok(out.write_all(&signed)?))?;
        self.zip.finish()?.flush()?;
        Ok(digest)
    }
}

/// Returns `sha256:` and the digest in hex digits.
pub(super) fn sha256(context: Context) -> String {
    format!("sha256:{}", data_encoding::HEXLOWER.encode(context.finish().as_ref()))
}

/// A writer that takes the digest and the length of what passes.
struct Hashed<W> {
    inner: W,
    context: Context,
    bytes: u64,
}

impl<W> Hashed<W> {
    fn new(inner: W) -> Self {
        Self { inner, context: Context::new(&SHA256), bytes: 0 }
    }

    fn end(self) -> (W, (String, u64)) {
        (self.inner, (sha256(self.context), self.bytes))
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buf)?;
        self.context.update(&buf[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
