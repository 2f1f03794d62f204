//! Gzip files of several members (RFC 1952 section 2.2) as a stream.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// Members of one gzip file: each costs the set-up of a decoder, whatever it holds.
pub const MOST_MEMBERS: usize = 1_000;

/// Reads the members of a gzip file one behind the other. Other bytes behind a member end the file, as padding there is common.
#[derive(Debug)]
pub struct Members<R: BufRead> {
    /// None while the next member is begun, and at the end.
    member: Option<GzDecoder<R>>,
    begun: usize,
}

impl<R: BufRead> Members<R> {
    /// A reader of the members in `bytes`, which are compressed.
    pub fn new(bytes: R) -> Self {
        Self { member: Some(GzDecoder::new(bytes)), begun: 1 }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(mut member) = self.member.take() {
            let read = member.read(out)?;
            if read > 0 || out.is_empty() {
                self.member = Some(member);
                return Ok(read);
            }
            let mut rest = member.into_inner();
            if !rest.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
                break;
            }
            if self.begun == MOST_MEMBERS {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "too many members"));
            }
            self.begun += 1;
            self.member = Some(GzDecoder::new(rest));
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn members_are_joined_and_padding_is_passed_over() {
        let mut out = Vec::new();
        let file = [gzip(b"one "), gzip(b""), gzip(b"two"), vec![0; 7]].concat();
        Members::new(&file[..]).read_to_end(&mut out).unwrap();
        assert_eq!(out, b"one two");
        assert!(Members::new(&file[..20]).read_to_end(&mut out).is_err());
    }

    #[test]
    fn no_more_than_a_thousand_members_are_begun() {
        let file = gzip(b"x").repeat(MOST_MEMBERS + 1);
        let mut out = Vec::new();
        assert!(Members::new(&file[..]).read_to_end(&mut out).is_err());
        assert_eq!(out.len(), MOST_MEMBERS);
    }
}
