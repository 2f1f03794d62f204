//! Detects formats that are sent as HTML by mistake, by their first bytes.

/// First bytes and the media type that has them.
///
/// Source: the WHATWG MIME Sniffing standard, sections 6 and 7.1, and the formats' own specifications. Only signatures that no
/// text begins with: four bytes at least, or bytes that aren't text.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"BZh91AY&SY", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-elf"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"\0asm", "application/wasm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"OggS\0", "application/ogg"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"fLaC\0", "audio/flac"),
    (b"wOFF\0", "font/woff"),
    (b"wOF2\0", "font/woff2"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
];

/// Returns the media type of a body that can't be a text.
pub(super) fn binary(body: &[u8]) -> Option<&'static str> {
    if let Some((_, name)) = SIGNATURES.iter().find(|(signature, _)| body.starts_with(signature)) {
        return Some(name);
    }
    match body {
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [0, 0, _, _, b'f', b't', b'y', b'p', ..] => Some("video/mp4"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_known_and_texts_are_not_taken_for_them() {
        for (body, wanted) in [
            (&b"\x89PNG\r\n\x1a\n\0\0"[..], Some("image/png")),
            (b"%PDF-1.4 <html>", Some("application/pdf")),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"\0\0\0\x20ftypisom", Some("video/mp4")),
            (b"", None),
            (b"\0", None),
            (b"<!doctype html>", None),
            (b"PK is short for public key", None),
            (b"RIFF on a theme", None),
            (b"BZh is a place", None),
            (b"\xef\xbb\xbf<html>", None),
            (b"\xff\xfe<\0h\0", None),
            (b"\0\0\0<", None),
        ] {
            assert_eq!(binary(body), wanted, "{body:?}");
        }
    }
}
