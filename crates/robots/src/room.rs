//! How much memory the texts that a file names may take.

use crate::memory;

/// Bytes that are kept of a small file, whatever its lines.
const LEAST: usize = 128 << 10;

/// The memory that is left for sitemaps, mirrors, licences, remarks and parameters of one reading: as much as the file has bytes, and
/// 128 KiB.
#[derive(Debug)]
pub(crate) struct Room {
    left: usize,
    /// A line was dropped since it didn't fit.
    pub(crate) is_used_up: bool,
}

impl Room {
    /// Room for what a file of so many bytes names.
    pub(crate) fn of(bytes: usize) -> Self {
        Self { left: bytes + LEAST, is_used_up: false }
    }

    /// Takes room; false where there isn't enough of it.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.left;
        self.left -= if fits { bytes } else { 0 };
        self.is_used_up |= !fits;
        fits
    }

    /// Gives a text back if it fits into a list of texts.
    pub(crate) fn text(&mut self, mut text: String) -> Option<String> {
        text.shrink_to_fit();
        self.take(size_of::<String>() + memory::block(text.capacity())).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_out_and_said() {
        let mut room = Room::of(0);
        assert!(room.take(LEAST - 60) && !room.is_used_up);
        assert!(room.text("x".repeat(60)).is_none() && room.is_used_up);
        assert_eq!(room.text("x".to_owned()).as_deref(), Some("x"), "a short one still fits");
        assert!(!room.take(5) && room.take(4));
    }
}
