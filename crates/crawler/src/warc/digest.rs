//! SHA-1 in base 32, as WARC digests are written.

use sha1::{Digest, Sha1};

/// Returns `sha1:` and the base 32 digest of the parts, one after the other.
///
/// Cost: about 0.5 ns a byte with the SHA extensions of the processor, four times that without.
pub(super) fn sha1(parts: &[&[u8]]) -> String {
    let mut hasher = Sha1::new();
    for part in parts {
        hasher.update(part);
    }
    let mut text = String::with_capacity("sha1:".len() + 32);
    text.push_str("sha1:");
    data_encoding::BASE32.encode_append(&hasher.finalize(), &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::sha1;

    #[test]
    fn digest_of_abc_is_that_of_fips_180() {
        // FIPS 180: A9993E36 4706816A BA3E2571 7850C26C 9CD0D89D; in base 32 by RFC 4648 section 6.
        let hex = "a9993e364706816aba3e25717850c26c9cd0d89d";
        let bytes = data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap();
        let expected = format!("sha1:{}", data_encoding::BASE32.encode(&bytes));
        assert_eq!(sha1(&[b"abc"]), expected);
        assert_eq!(sha1(&[b"a", b"", b"bc"]), expected);
        assert_eq!(sha1(&[b""]), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
    }
}
