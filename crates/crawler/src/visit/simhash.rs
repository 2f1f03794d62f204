//! A fingerprint of a page's text that is similar for similar pages (Charikar 2002: simhash; Manku and others 2007:
//! pages whose 64-bit fingerprints
//! differ in at most 3 bits are near duplicates).

/// Bytes of a page that are looked at.
const MOST: usize = 256 * 1024;

/// Fewest words that make a fingerprint: shorter texts share theirs with too many others.
const FEWEST: usize = 16;

/// Words that are taken together.
const TOGETHER: usize = 3;

/// Bytes of a piece of text that isn't ASCII: a language without blanks has no words, so that its texts are taken in pieces of about two characters.
const PIECE: usize = 6;

/// The fingerprint of an HTML page's text, without tags, scripts and styles, in lower case as far as it is ASCII; none where the text has fewer than 16
/// words. One pass; memory: none that grows. Cost: some 60 operations a word.
pub(super) fn simhash(html: &[u8]) -> Option<u64> {
    let mut sums = Sums::default();
    let mut rest = &html[..html.len().min(MOST)];
    while !rest.is_empty() {
        let end = memchr::memchr(b'<', rest).unwrap_or(rest.len());
        sums.text(&rest[..end]);
        rest = &rest[end..];
        for name in [&b"<script"[..], b"<style"] {
            if rest.len() > name.len() && rest[..name.len()].eq_ignore_ascii_case(name) {
                rest = past_end(rest, &name[1..]);
            }
        }
        if rest.starts_with(b"<") {
            rest = memchr::memchr(b'>', rest).map_or(&[], |end| &rest[end + 1..]);
        }
    }
    sums.fingerprint()
}

/// What begins with the end tag of a raw-text element.
fn past_end<'a>(rest: &'a [u8], name: &[u8]) -> &'a [u8] {
    let end = memchr::memmem::find_iter(rest, b"</")
        .find(|at| rest[at + 2..].get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name)));
    end.map_or(&[], |at| &rest[at..])
}

/// For each bit, how many more features have it than don't.
struct Sums {
    bits: [i32; 64],
    words: usize,
    /// The hashes of the last words.
    last: [u64; TOGETHER],
}

impl Default for Sums {
    fn default() -> Self {
        Self { bits: [0; 64], words: 0, last: [0; TOGETHER] }
    }
}

impl Sums {
    fn text(&mut self, text: &[u8]) {
        let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
        for word in text.split(|byte| !is_of_word(byte)).filter(|word| !word.is_empty()) {
            if word.len() > PIECE && !word[0].is_ascii() {
                word.chunks(PIECE).for_each(|piece| self.word(piece));
            } else {
                self.word(word);
            }
        }
    }

    fn word(&mut self, word: &[u8]) {
        let hash = word.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
        });
        self.last.rotate_left(1);
        self.last[TOGETHER - 1] = hash;
        self.words += 1;
        if self.words >= TOGETHER {
            let feature = self.last.iter().fold(0_u64, |all, hash| mixed(all.rotate_left(5) ^ hash));
            for (bit, sum) in self.bits.iter_mut().enumerate() {
                *sum += if feature >> bit & 1 == 1 { 1 } else { -1 };
            }
        }
    }

    fn fingerprint(&self) -> Option<u64> {
        let bits = self.bits.iter().enumerate();
        let fingerprint = bits.fold(0, |bits, (bit, sum)| bits | u64::from(*sum > 0) << bit);
        (self.words >= FEWEST).then_some(fingerprint)
    }
}

/// Spreads the bits of a hash (the finaliser of splitmix64).
fn mixed(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of words of its own.
    fn text(seed: u64, words: usize) -> Vec<String> {
        (0..words as u64).map(|word| format!("w{:x}", mixed(seed << 32 | word) % 5000)).collect()
    }

    fn page(words: &[String]) -> u64 {
        simhash(format!("<title>t</title><p class=x>{}</p>", words.join(" ")).as_bytes()).unwrap()
    }

    #[test]
    fn one_changed_word_of_many_changes_few_bits_and_another_text_about_half() {
        for seed in 0..20 {
            let words = text(seed, 800);
            let mut changed = words.clone();
            changed[400] = "another".to_owned();
            let (one, two, other) = (page(&words), page(&changed), page(&text(seed + 100, 800)));
            assert!((one ^ two).count_ones() <= 6, "{seed}: {}", (one ^ two).count_ones());
            let apart = (one ^ other).count_ones();
            assert!((16..=48).contains(&apart), "{seed}: {apart}");
        }
    }

    #[test]
    fn tags_scripts_styles_case_and_blanks_do_not_count() {
        let words = text(1, 40).join(" ");
        let plain = simhash(words.as_bytes());
        assert!(plain.is_some());
        for same in [
            format!("<p a=b>{words}</p><SCRIPT>var x = 1 < 2</script><style>p {{}}</style>"),
            words.to_ascii_uppercase(),
            words.replace(' ', "\n <b> </b>"),
        ] {
            assert_eq!(simhash(same.as_bytes()), plain, "{same}");
        }
        let japanese: String = (0x3042..0x3082).filter_map(char::from_u32).collect();
        assert!(simhash(japanese.as_bytes()).is_some());
    }

    #[test]
    fn a_short_text_has_none() {
        assert_eq!(simhash(text(1, 15).join(" ").as_bytes()), None);
        assert!(simhash(text(1, 16).join(" ").as_bytes()).is_some());
        assert_eq!(simhash(b""), None);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_break_it(html in proptest::collection::vec(proptest::sample::select(&b"<>/script yle!a\xe3"[..]), 0..200)) {
            let _fingerprint = simhash(&html);
        }
    }
}
