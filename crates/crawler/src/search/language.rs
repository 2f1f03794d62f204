//! The language of a text, and the stemmer of each language that has one.

use frostem::Algorithm;

/// A language with a stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stemmed {
    /// ISO 639-1.
    pub(super) code: &'static str,
    /// The name of its tokenizer.
    pub(super) tokenizer: &'static str,
    pub(super) algorithm: Algorithm,
}

const fn stemmed(code: &'static str, tokenizer: &'static str, algorithm: Algorithm) -> Stemmed {
    Stemmed { code, tokenizer, algorithm }
}

/// The languages with a stemmer: those of tantivy, by Snowball's algorithms.
pub(super) const STEMMED: [Stemmed; 18] = [
    stemmed("ar", "words_ar", Algorithm::Arabic),
    stemmed("da", "words_da", Algorithm::Danish),
    stemmed("de", "words_de", Algorithm::German),
    stemmed("el", "words_el", Algorithm::Greek),
    stemmed("en", "words_en", Algorithm::English),
    stemmed("es", "words_es", Algorithm::Spanish),
    stemmed("fi", "words_fi", Algorithm::Finnish),
    stemmed("fr", "words_fr", Algorithm::French),
    stemmed("hu", "words_hu", Algorithm::Hungarian),
    stemmed("it", "words_it", Algorithm::Italian),
    stemmed("nl", "words_nl", Algorithm::Dutch),
    stemmed("no", "words_no", Algorithm::Norwegian),
    stemmed("pt", "words_pt", Algorithm::Portuguese),
    stemmed("ro", "words_ro", Algorithm::Romanian),
    stemmed("ru", "words_ru", Algorithm::Russian),
    stemmed("sv", "words_sv", Algorithm::Swedish),
    stemmed("ta", "words_ta", Algorithm::Tamil),
    stemmed("tr", "words_tr", Algorithm::Turkish),
];

/// The code of a text whose language isn't known (ISO 639-2).
pub(super) const UNKNOWN: &str = "und";

/// Bytes of a text that its language is detected from.
const SAMPLE: usize = 3_000;

/// Bytes from which on a text tells its language better than what its author declared, which is often the default of a template.
const TELLING: usize = 400;

/// Tells the language of a text: its ISO 639-1 code where it has one, else that of ISO 639-3; [`UNKNOWN`] where nothing tells.
///
/// The text decides where it is long and clear enough, else what its author declared does (`lang="de-AT"`), else the text.
pub(super) fn tell(text: &str, declared: Option<&str>) -> String {
    let declared = declared.and_then(declared_code);
    let sample = &text[..text.floor_char_boundary(SAMPLE)];
    let found = whatlang::detect(sample);
    let clear =
        found.as_ref().filter(|found| found.is_reliable() && (declared.is_none() || sample.len() >= TELLING));
    if let Some(found) = clear {
        return short(found.lang().code()).to_owned();
    }
    if let Some(code) = declared {
        return code;
    }
    // A word or two of Latin letters could be anything.
    match found {
        Some(found) if found.is_reliable() || found.confidence() > 0.5 && sample.len() >= 40 => {
            short(found.lang().code()).to_owned()
        }
        _ => UNKNOWN.to_owned(),
    }
}

/// The primary subtag of a language tag (RFC 5646), in lower case.
fn declared_code(tag: &str) -> Option<String> {
    let primary = tag.trim().split(['-', '_', ',', ' ', ';']).next()?.to_ascii_lowercase();
    let is_code = matches!(primary.len(), 2 | 3) && primary.bytes().all(|b| b.is_ascii_lowercase());
    is_code.then(|| short(&primary).to_owned())
}

/// The ISO 639-1 code of one of ISO 639-3; others stay. Both forms of Norwegian count as one.
pub(super) fn short(code: &str) -> &str {
    const CODES: [(&str, &str); 66] = [
        ("afr", "af"),
        ("aka", "ak"),
        ("amh", "am"),
        ("ara", "ar"),
        ("aze", "az"),
        ("bel", "be"),
        ("ben", "bn"),
        ("bul", "bg"),
        ("cat", "ca"),
        ("ces", "cs"),
        ("cmn", "zh"),
        ("zho", "zh"),
        ("dan", "da"),
        ("deu", "de"),
        ("ell", "el"),
        ("eng", "en"),
        ("epo", "eo"),
        ("est", "et"),
        ("fin", "fi"),
        ("fra", "fr"),
        ("guj", "gu"),
        ("heb", "he"),
        ("hin", "hi"),
        ("hrv", "hr"),
        ("hun", "hu"),
        ("hye", "hy"),
        ("ind", "id"),
        ("ita", "it"),
        ("jav", "jv"),
        ("jpn", "ja"),
        ("kan", "kn"),
        ("kat", "ka"),
        ("khm", "km"),
        ("kor", "ko"),
        ("lat", "la"),
        ("lav", "lv"),
        ("lit", "lt"),
        ("mal", "ml"),
        ("mar", "mr"),
        ("mkd", "mk"),
        ("mya", "my"),
        ("nep", "ne"),
        ("nld", "nl"),
        ("nob", "no"),
        ("nb", "no"),
        ("nn", "no"),
        ("ori", "or"),
        ("pan", "pa"),
        ("pes", "fa"),
        ("pol", "pl"),
        ("por", "pt"),
        ("ron", "ro"),
        ("rus", "ru"),
        ("sin", "si"),
        ("slk", "sk"),
        ("slv", "sl"),
        ("sna", "sn"),
        ("spa", "es"),
        ("srp", "sr"),
        ("swe", "sv"),
        ("tam", "ta"),
        ("tel", "te"),
        ("tha", "th"),
        ("tur", "tr"),
        ("ukr", "uk"),
        ("vie", "vi"),
    ];
    CODES.iter().find(|(long, _)| *long == code).map_or(code, |(_, short)| short)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GERMAN: &str = "Der Hund lief gestern über die Straße, und niemand wusste, woher er gekommen war oder wohin er wollte.";

    #[test]
    fn a_clear_text_tells_its_language() {
        assert_eq!(tell(GERMAN, None), "de");
        assert_eq!(tell(&GERMAN.repeat(5), Some("en")), "de", "the default of a template");
        assert_eq!(tell("日本語の文書を検索するための索引です。ひらがなもあります。", None), "ja");
        assert_eq!(tell("这是一个用于全文搜索的中文网页，没有假名。", None), "zh");
    }

    #[test]
    fn what_the_author_declared_decides_on_a_short_text() {
        assert_eq!(tell("Menu", Some("fr-CA")), "fr");
        assert_eq!(tell(GERMAN, Some("nl")), "nl");
        assert_eq!(tell("Menu", Some("nb_NO")), "no");
        assert_eq!(tell("Menu", Some("english")), UNKNOWN);
        assert_eq!(tell("", None), UNKNOWN);
    }

    #[test]
    fn every_detectable_language_has_a_short_code_or_none() {
        for lang in whatlang::Lang::all() {
            let code = short(lang.code());
            assert!(matches!(code.len(), 2 | 3), "{code}");
            assert!(
                code.len() == 2 || ["uzb", "zul", "tuk", "tgl", "urd", "yid", "cym"].contains(&code),
                "{code}"
            );
        }
        for language in STEMMED {
            assert_eq!(language.tokenizer, format!("words_{}", language.code));
        }
    }
}
