//! The index of the archive in compressed blocks, and the index of these: the form that Heritrix and pywb call `ZipNum`.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{Context, SHA256};

use super::WaczError;
use super::package::sha256;
use crate::sorter::{SortError, temporary_file};

/// Lines of a block, as `cdxj-indexer` and ArchiveWeb.page write them.
const LINES: usize = 1024;

/// Takes sorted lines. The index of the blocks is in a temporary file until all blocks are written.
#[derive(Debug)]
pub(super) struct Blocks {
    index: BufWriter<File>,
    block: Vec<u8>,
    lines: usize,
    /// Key and time of the first line of the block.
    first: Vec<u8>,
    offset: u64,
}

impl Blocks {
    pub(super) fn new(dir: Option<&Path>) -> Result<Self, WaczError> {
        let mut dir = dir.map_or_else(std::env::temp_dir, Path::to_owned);
        let file = temporary_file(&mut dir).map_err(|source| SortError::new(&dir, source))?;
        let mut index = BufWriter::new(file);
        index.write_all(b"!meta 0 {\"format\": \"cdxj-gzip-1.0\", \"filename\": \"index.cdx.gz\"}\n")?;
        Ok(Self { index, block: Vec::new(), lines: 0, first: Vec::new(), offset: 0 })
    }

    /// Takes the next line.
    pub(super) fn push(&mut self, line: &[u8], out: &mut dyn Write) -> Result<(), WaczError> {
        if self.lines == 0 {
            let key = line.split(|byte| *byte == b'{').next().unwrap_or_default();
            self.first.extend_from_slice(key.trim_ascii_end());
        }
        self.block.extend_from_slice(line);
        self.block.push(b'\n');
        self.lines += 1;
        if self.lines == LINES { self.finish(out) } else { Ok(()) }
    }

    /// Writes the last block.
    pub(super) fn finish(&mut self, out: &mut dyn Write) -> Result<(), WaczError> {
        if self.lines == 0 {
            return Ok(());
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&self.block)?;
        let member = encoder.finish()?;
        out.write_all(&member)?;
        let mut digest = Context::new(&SHA256);
        digest.update(&member);
        let (offset, length) = (self.offset, member.len());
        self.index.write_all(&self.first)?;
        writeln!(
            self.index,
            " {{\"offset\": {offset}, \"length\": {length}, \"digest\": \"{}\"}}",
            sha256(digest)
        )?;
        self.offset += length as u64;
        self.lines = 0;
        self.block.clear();
        self.first.clear();
        Ok(())
    }

    /// Copies the index of the blocks.
    pub(super) fn copy_index(&mut self, out: &mut dyn Write) -> Result<(), WaczError> {
        self.index.flush()?;
        let file = self.index.get_mut();
        file.seek(SeekFrom::Start(0))?;
        io::copy(file, out)?;
        Ok(())
    }
}
