//! Archive files of a cluster's crawl that still have to be searched for records of forgotten URLs.

/// A file that has to be searched, as the key of an entry in `meta` of the partition that it is of. The value is the number of the partition's
/// last rule when it was entered (u64, big-endian). Who has the file removes the entry when it has nothing more of these URLs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForgottenFile {
    /// The series of a worker's file; none for a file of the time before the crawl was a cluster's.
    pub series: Option<String>,
    /// The serial number within it, from 1.
    pub serial: u32,
}

impl ForgottenFile {
    /// What the keys begin with.
    pub const PREFIX: &[u8] = b"forgotten-file/";

    /// The key: the serial number (u32, big-endian) and the series follow the prefix.
    pub fn key(&self) -> Vec<u8> {
        let series = self.series.as_deref().unwrap_or_default();
        [Self::PREFIX, &self.serial.to_be_bytes(), series.as_bytes()].concat()
    }

    /// Reads a key; none if it is another's.
    pub fn read(key: &[u8]) -> Option<Self> {
        let (serial, series) = key.strip_prefix(Self::PREFIX)?.split_first_chunk()?;
        let series = std::str::from_utf8(series).ok()?;
        let series = (!series.is_empty()).then(|| series.to_owned());
        Some(Self { series, serial: u32::from_be_bytes(*serial) })
    }
}

impl std::fmt::Display for ForgottenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.series {
            Some(series) => write!(f, "{series}-{:05}", self.serial),
            None => write!(f, "{:05}", self.serial),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_the_file() {
        for series in [None, Some("w3p17f4".to_owned())] {
            let file = ForgottenFile { series, serial: 258 };
            assert_eq!(ForgottenFile::read(&file.key()), Some(file));
        }
        assert_eq!(ForgottenFile::read(b"forgotten/12345678"), None);
        assert_eq!(ForgottenFile::read(b"forgotten-file/12"), None, "too short for a serial number");
    }
}
