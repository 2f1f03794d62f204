//! Which responses are wanted, by what their heads say: MIME types, and the size of media and archives.

use std::fmt;

use regex::{RegexSet, RegexSetBuilder};

use page::units::format_size;

/// A type that isn't one: what `--types` was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} isn't a MIME type: write it as in \"text/html\", \"text/*\" or \"*/pdf\"")]
pub struct NoMimeType(pub String);

/// The MIME types that a crawl keeps, as globs: `*` stands for any characters, `?` for one.
#[derive(Debug, Clone)]
pub struct TypeGlobs {
    set: RegexSet,
}

impl TypeGlobs {
    /// Reads globs of types without parameters, in any case; none of them keeps every type.
    pub fn new<T: AsRef<str>>(globs: &[T]) -> Result<Self, NoMimeType> {
        let patterns = globs.iter().map(|glob| pattern(glob.as_ref())).collect::<Result<Vec<_>, _>>()?;
        let set = RegexSetBuilder::new(patterns).case_insensitive(true).build();
        let all = || globs.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" ");
        Ok(Self { set: set.map_err(|_| NoMimeType(all()))? })
    }

    fn hold(&self, mime_type: &str) -> bool {
        self.set.is_empty() || self.set.is_match(mime_type)
    }
}

impl Default for TypeGlobs {
    fn default() -> Self {
        Self { set: RegexSet::empty() }
    }
}

impl PartialEq for TypeGlobs {
    fn eq(&self, other: &Self) -> bool {
        self.set.patterns() == other.set.patterns()
    }
}

impl Eq for TypeGlobs {}

/// The regular expression of a glob.
fn pattern(glob: &str) -> Result<String, NoMimeType> {
    // RFC 9110 section 5.6.2: a type and a subtype are tokens.
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~?".contains(&b))
    };
    let parts = glob.split_once('/').filter(|(kind, of_kind)| is_part(kind) && is_part(of_kind));
    let Some((kind, of_kind)) = parts else { return Err(NoMimeType(glob.to_owned())) };
    let part = |part: &str| regex::escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]");
    Ok(format!("^{}/{}$", part(kind), part(of_kind)))
}

/// What a crawl keeps. The default keeps everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The MIME types.
    pub types: TypeGlobs,
    /// The largest video, audio file, archive or disk image, in bytes; none is no limit.
    pub max_media: Option<u64>,
}

/// Why a response isn't wanted; in words, what it is and which setting leaves it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwanted {
    /// Its MIME type isn't among [`Wanted::types`].
    Type(String),
    /// It is larger than [`Wanted::max_media`].
    Large {
        /// Its MIME type; none where the response names none.
        mime_type: Option<String>,
        /// Its length in bytes; none where that isn't announced: then more than the limit came.
        length: Option<u64>,
        /// The limit, in bytes.
        most: u64,
    },
}

impl fmt::Display for Unwanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(mime_type) => write!(f, "{mime_type}: not among scope.types"),
            Self::Large { mime_type, length, most } => {
                let mime_type = mime_type.as_deref().unwrap_or("media");
                match length {
                    Some(length) => write!(f, "{mime_type}, {length} bytes")?,
                    None => write!(f, "{mime_type} of unknown length")?,
                }
                write!(f, ": larger than limits.max_media, {}", format_size(*most))
            }
        }
    }
}

impl Wanted {
    /// Judges a response of status 2xx by its `Content-Type`, of which parameters are ignored, and its length, where they are known. What
    /// names no type isn't refused for its type.
    pub fn judge(&self, path: &str, content_type: Option<&str>, length: Option<u64>) -> Result<(), Unwanted> {
        let mime_type = content_type.and_then(essence);
        if let Some(mime_type) = &mime_type
            && !self.types.hold(mime_type)
        {
            return Err(Unwanted::Type(mime_type.clone()));
        }
        match (self.media_limit(path, content_type), length) {
            (Some(most), Some(length)) if length > most => {
                Err(Unwanted::Large { mime_type, length: Some(length), most })
            }
            _ => Ok(()),
        }
    }

    /// The largest size of a response where it is a media file or an archive: by its `Content-Type`, and by its path where that says
    /// nothing of it.
    pub fn media_limit(&self, path: &str, content_type: Option<&str>) -> Option<u64> {
        let is_media = match content_type.and_then(essence).as_deref() {
            None
            | Some("application/octet-stream" | "binary/octet-stream" | "application/force-download") => {
                is_media_path(path)
            }
            Some(mime_type) => is_media_type(mime_type),
        };
        self.max_media.filter(|_| is_media)
    }

    /// Whether the head of a URL is asked for before the URL itself: its path looks like a media file or an archive, and there is a limit.
    pub fn asks_head_first(&self, path_and_query: &str) -> bool {
        self.max_media.is_some() && is_media_path(path_and_query)
    }
}

/// The type without parameters, in lower case.
fn essence(content_type: &str) -> Option<String> {
    let essence = content_type.split([';', ',']).next().unwrap_or_default().trim();
    essence.contains('/').then(|| essence.to_ascii_lowercase())
}

/// Video, audio, archives and disk images by their registered and usual types.
fn is_media_type(mime_type: &str) -> bool {
    const TYPES: [&str; 42] = [
        "application/bzip2",
        "application/gzip",
        "application/java-archive",
        "application/mp4",
        "application/ogg",
        "application/vnd.android.package-archive",
        "application/vnd.apple.installer+xml",
        "application/vnd.debian.binary-package",
        "application/vnd.efi.img",
        "application/vnd.efi.iso",
        "application/vnd.ms-cab-compressed",
        "application/vnd.ms-wim",
        "application/vnd.rar",
        "application/vnd.rn-realmedia",
        "application/x-7z-compressed",
        "application/x-apple-diskimage",
        "application/x-archive",
        "application/x-bzip",
        "application/x-bzip2",
        "application/x-cd-image",
        "application/x-compress",
        "application/x-compressed-tar",
        "application/x-cpio",
        "application/x-debian-package",
        "application/x-gtar",
        "application/x-gzip",
        "application/x-iso9660-image",
        "application/x-java-archive",
        "application/x-lzip",
        "application/x-lzma",
        "application/x-qemu-disk",
        "application/x-rar",
        "application/x-rar-compressed",
        "application/x-raw-disk-image",
        "application/x-redhat-package-manager",
        "application/x-rpm",
        "application/x-stuffit",
        "application/x-tar",
        "application/x-xz",
        "application/x-zip-compressed",
        "application/zip",
        "application/zstd",
    ];
    mime_type.starts_with("video/")
        || mime_type.starts_with("audio/")
        || TYPES.binary_search(&mime_type).is_ok()
}

/// Whether the last segment of a path ends as the names of videos, audio files, archives and disk images do.
fn is_media_path(path_and_query: &str) -> bool {
    const EXTENSIONS: [&str; 63] = [
        "3g2", "3gp", "7z", "aac", "aif", "aiff", "apk", "avi", "bz2", "cab", "cpio", "deb", "dmg", "flac",
        "flv", "gz", "img", "iso", "jar", "lz", "lzma", "m2ts", "m4a", "m4b", "m4v", "mka", "mkv", "mov",
        "mp3", "mp4", "mpeg", "mpg", "oga", "ogg", "ogv", "opus", "ova", "pkg", "qcow2", "ra", "rar", "rm",
        "rpm", "sit", "tar", "tbz2", "tgz", "txz", "vdi", "vhd", "vhdx", "vmdk", "vob", "war", "wav", "weba",
        "webm", "wim", "wma", "wmv", "xz", "zip", "zst",
    ];
    let path = path_and_query.split('?').next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some((_, extension)) = name.rsplit_once('.') else { return false };
    EXTENSIONS.binary_search(&&*extension.to_ascii_lowercase()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(types: &[&str], max_media: Option<u64>) -> Wanted {
        Wanted { types: TypeGlobs::new(types).unwrap(), max_media }
    }

    #[test]
    fn globs_hold_types_in_any_case_and_without_their_parameters() {
        for (types, content_type, is_wanted) in [
            (&["text/*"][..], "text/html; charset=utf-8", true),
            (&["text/*"], "TEXT/CSS", true),
            (&["text/*"], "image/png", false),
            (&["text/*"], "x-text/html", false),
            (&["TEXT/HTML", "application/pdf"], "application/pdf", true),
            (&["application/pdf"], "application/pdfx", false),
            (&["application/*+xml"], "application/xhtml+xml", true),
            (&["application/*+xml"], "application/xml", false),
            (&["application/x.y"], "application/xzy", false),
            (&["*/*"], "a/b", true),
            (&["image/jp?g"], "image/jpeg", true),
            (&["image/jp?"], "image/jpeg", false),
            (&[], "image/png", true),
        ] {
            let judged = wanted(types, None).judge("/", Some(content_type), None);
            assert_eq!(judged.is_ok(), is_wanted, "{types:?} {content_type}");
        }
        let text = wanted(&["text/*"], None);
        assert_eq!(text.judge("/", None, Some(1)), Ok(()), "what names no type isn't refused for it");
        assert_eq!(
            text.judge("/", Some("image/png;q=1"), None).unwrap_err().to_string(),
            "image/png: not among scope.types"
        );
        for wrong in ["", "pdf", "text/", "/html", "text/html; charset=utf-8", "a b/c", "text/html/x", "*"] {
            assert_eq!(TypeGlobs::new(&[wrong]), Err(NoMimeType(wrong.to_owned())), "{wrong}");
        }
    }

    #[test]
    fn media_over_the_limit_isnt_wanted() {
        let limit = wanted(&[], Some(1000));
        for (path, content_type, length, is_wanted) in [
            ("/a.mp4", Some("video/mp4"), Some(1001), false),
            ("/a.mp4", Some("video/mp4"), Some(1000), true),
            ("/a.mp4", Some("video/mp4"), None, true),
            ("/a", Some("Audio/Mpeg"), Some(1001), false),
            ("/a", Some("application/zip"), Some(1001), false),
            ("/a.iso", Some("application/octet-stream"), Some(1001), false),
            ("/a.iso", None, Some(1001), false),
            ("/a.bin", Some("application/octet-stream"), Some(1001), true),
            // A page that offers a file often has the file's name.
            ("/a.zip", Some("text/html"), Some(1001), true),
            ("/a.pdf", Some("application/pdf"), Some(1001), true),
            ("/a.png", Some("image/png"), Some(1001), true),
        ] {
            assert_eq!(
                limit.judge(path, content_type, length).is_ok(),
                is_wanted,
                "{path} {content_type:?} {length:?}"
            );
            assert_eq!(wanted(&[], None).judge(path, content_type, length), Ok(()));
        }
        let large = limit.judge("/a.mp4", Some("video/mp4"), Some(2048)).unwrap_err();
        assert_eq!(large.to_string(), "video/mp4, 2048 bytes: larger than limits.max_media, 1KB");
    }

    #[test]
    fn the_head_is_asked_for_first_by_the_extension() {
        let limit = wanted(&[], Some(1000));
        for path in ["/x/a.mp4", "/a.ISO", "/a.tar.gz?download=1", "/a.tar.zst", "/a.7z", "/a.3gp"] {
            assert!(limit.asks_head_first(path), "{path}");
        }
        for path in ["/", "/zip", "/a.zip/", "/a.html", "/a.pdf?f=x.zip", "/a.png", "/a.", "/mp4.html"] {
            assert!(!limit.asks_head_first(path), "{path}");
        }
        assert!(!wanted(&[], None).asks_head_first("/a.mp4"));
    }

    #[test]
    fn the_lists_are_sorted_so_that_they_can_be_searched() {
        // Each extension of the list is found, and so is each type.
        for path in ["/a.3g2", "/a.zip", "/a.img", "/a.qcow2", "/a.war", "/a.m2ts", "/a.jar"] {
            assert!(is_media_path(path), "{path}");
        }
        for mime_type in ["application/bzip2", "application/zstd", "application/x-tar", "application/vnd.rar"]
        {
            assert!(is_media_type(mime_type), "{mime_type}");
        }
    }
}
