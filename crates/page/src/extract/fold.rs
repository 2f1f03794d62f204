//! Text with its white space folded, within a limit.

/// Collects pieces of text: a run of white space becomes one space, with none at the start or the end.
///
/// White space is what HTML calls so: tab, line feed, form feed, carriage return, space (a no-break space is none).
#[derive(Debug)]
pub(super) struct Folded {
    out: Vec<u8>,
    limit: usize,
    space: bool,
    was_cut: bool,
}

/// Bytes reserved with the first piece.
const FIRST: usize = 64;

#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'\x0c')
}

impl Folded {
    /// Makes an empty text that keeps `limit` bytes.
    pub(super) fn new(limit: usize) -> Folded {
        Folded { out: Vec::new(), limit, space: false, was_cut: false }
    }

    /// Adds a piece, which may cut words or characters in two.
    pub(super) fn push(&mut self, mut piece: &[u8]) {
        if self.out.capacity() == 0 {
            self.out.reserve(FIRST.min(self.limit));
        }
        while !self.was_cut {
            let spaces = piece.iter().take_while(|&&b| is_space(b)).count();
            self.space |= spaces > 0;
            piece = &piece[spaces..];
            if piece.is_empty() {
                return;
            }
            let word = piece.iter().position(|&b| is_space(b)).unwrap_or(piece.len());
            let space = usize::from(self.space && !self.out.is_empty());
            let room = self.limit.saturating_sub(self.out.len());
            if room < space + word {
                self.was_cut = true;
                if room <= space {
                    return;
                }
            }
            if space > 0 {
                self.out.push(b' ');
            }
            self.space = false;
            self.out.extend_from_slice(&piece[..word.min(room - space)]);
            piece = &piece[word..];
        }
    }

    /// Parts the text before from the text after.
    #[inline]
    pub(super) fn part(&mut self) {
        self.space = true;
    }

    /// Returns the bytes that the text has so far, a space that would come before the next word included.
    pub(super) fn next_offset(&self) -> usize {
        self.out.len() + usize::from(self.space && !self.out.is_empty())
    }

    /// Returns whether the text so far has a byte.
    pub(super) fn contains(&self, byte: u8) -> bool {
        memchr::memchr(byte, &self.out).is_some()
    }

    /// Returns the bytes that the text has so far.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Returns whether something was omitted.
    pub(super) fn was_cut(&self) -> bool {
        self.was_cut
    }

    /// Returns the text. A character that the limit cuts in two is omitted.
    pub(super) fn finish(mut self) -> String {
        self.omit_cut_character();
        String::from_utf8(self.out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
    }

    /// As [`Folded::finish`], and starts over in the same memory: for many short texts.
    pub(super) fn take(&mut self) -> String {
        let mut text = String::new();
        self.take_to(&mut text);
        text
    }

    /// As [`Folded::take`], appended to other texts.
    pub(super) fn take_to(&mut self, texts: &mut String) {
        self.omit_cut_character();
        self.space = false;
        self.was_cut = false;
        match std::str::from_utf8(&self.out) {
            Ok(text) => texts.push_str(text),
            Err(_) => texts.push_str(&String::from_utf8_lossy(&self.out)),
        }
        self.out.clear();
    }

    fn omit_cut_character(&mut self) {
        if self.was_cut {
            let mut end = self.out.len();
            while end > 0 && self.out[end - 1] & 0xc0 == 0x80 {
                end -= 1;
            }
            if end > 0 && self.out[end - 1] >= 0xc0 && std::str::from_utf8(&self.out[end - 1..]).is_err() {
                self.out.truncate(end - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(limit: usize, pieces: &[&str]) -> (String, bool) {
        let mut f = Folded::new(limit);
        for p in pieces {
            f.push(p.as_bytes());
        }
        let cut = f.was_cut();
        (f.take(), cut)
    }

    #[test]
    fn pieces_join_without_a_space_of_our_own() {
        assert_eq!(folded(99, &["\n a", "b \t", "\r\n", " c\u{a0}d "]), ("ab c\u{a0}d".into(), false));
        assert_eq!(folded(99, &["  ", "\n"]), (String::new(), false));
    }

    #[test]
    fn the_limit_cuts_between_characters() {
        assert_eq!(folded(3, &["abc"]), ("abc".into(), false));
        assert_eq!(folded(3, &["abcd"]), ("abc".into(), true));
        assert_eq!(folded(3, &["ab c"]), ("ab".into(), true));
        assert_eq!(folded(4, &["ab\u{20ac}"]), ("ab".into(), true));
        assert_eq!(folded(5, &["ab\u{20ac}", "x"]), ("ab\u{20ac}".into(), true));
    }

    #[test]
    fn a_character_may_come_in_two_pieces() {
        let mut f = Folded::new(99);
        f.push(&[0xc3]);
        f.push(&[0xa9]);
        assert_eq!(f.take(), "é");
    }
}
