//! How a text becomes words: in any script, with diacritics folded, stemmed where the language has a stemmer, and in pairs of characters
//! where a script has no blanks between words.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard};

use frostem::{Algorithm, Stemmer};
use tantivy::tokenizer::{RawTokenizer, TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use super::language::STEMMED;
use super::stem_cache::StemCache;

/// Name of the tokenizer without a stemmer.
pub(super) const PLAIN: &str = "words";

/// Name of the tokenizer of fields whose value is one word.
pub(super) const WHOLE: &str = "whole";

/// Name of the tokenizer of fields whose value is taken as it is.
pub(super) const RAW: &str = "raw";

/// Bytes of the longest word: longer ones are data.
const WORD_BYTES: usize = 100;

/// What the words are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// The index. A word is indexed by its stem, and by the stem of its folded form where that is another, so that it is found with
    /// and without its diacritics; a text without blanks by its characters and pairs of them.
    Index,
    /// A query: one stem a word, and pairs of characters; a single character by itself.
    Query,
}

/// The tokenizers by the names that the fields have.
pub(super) fn tokenizers(made_for: Use) -> TokenizerManager {
    let manager = TokenizerManager::new();
    let cache = (made_for == Use::Index).then(Arc::default);
    let words = |stemmer| TextAnalyzer::from(Words { made_for, stemmer, cache: cache.clone() });
    manager.register(PLAIN, words(None));
    manager.register(WHOLE, TextAnalyzer::from(Whole));
    // tantivy wants one of this name for every field that isn't indexed.
    manager.register("default", TextAnalyzer::from(Whole));
    manager.register(RAW, TextAnalyzer::from(RawTokenizer::default()));
    for language in STEMMED {
        manager.register(language.tokenizer, words(Some(language.algorithm)));
    }
    manager
}

/// Returns whether anything of a text is a word.
pub(super) fn has_words(text: &str) -> bool {
    Words { made_for: Use::Query, stemmer: None, cache: None }.token_stream(text).advance()
}

/// A text in lower case without diacritics, as texts have it that leave them out; none where that is the text itself.
pub(super) fn folded_text(text: &str) -> Option<String> {
    let lower = lower(text);
    match fold(&lower) {
        Cow::Owned(folded) => Some(folded),
        Cow::Borrowed(_) => None,
    }
}

/// Cuts a text into words.
#[derive(Debug, Clone)]
pub(super) struct Words {
    made_for: Use,
    stemmer: Option<Algorithm>,
    /// Of the index: shared by the tokenizers of all fields and segments.
    cache: Option<Arc<Mutex<StemCache>>>,
}

impl Words {
    #[cfg(test)]
    fn of(made_for: Use, code: &str) -> Self {
        let stemmer =
            STEMMED.iter().find(|language| language.code == code).map(|language| language.algorithm);
        Self { made_for, stemmer, cache: Some(Arc::default()) }
    }
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        WordStream {
            text,
            at: 0,
            position: 0,
            made_for: self.made_for,
            stemmer: self.stemmer,
            // Another text that is cut at the same time goes without.
            cache: self.cache.as_ref().and_then(|cache| cache.try_lock().ok()),
            waiting: Vec::new(),
            token: Token::default(),
        }
    }
}

/// The words of a text.
pub(super) struct WordStream<'a> {
    text: &'a str,
    at: usize,
    /// The position of the next word.
    position: usize,
    made_for: Use,
    stemmer: Option<Algorithm>,
    cache: Option<MutexGuard<'a, StemCache>>,
    /// Words that are made already, the next one last.
    waiting: Vec<Token>,
    token: Token,
}

impl WordStream<'_> {
    /// Makes the words of the next run of characters, the first as `token`; false at the end.
    fn make(&mut self) -> bool {
        loop {
            let rest = &self.text[self.at..];
            let Some((skip, first)) = rest.char_indices().find(|(_, c)| class(*c) != Class::Apart) else {
                return false;
            };
            let start = self.at + skip;
            let kind = class(first);
            let in_run = |c: char| match class(c) {
                Class::Mark => true,
                other => other == kind,
            };
            let rest = &self.text[start..];
            let length = rest.find(|c| !in_run(c)).unwrap_or(rest.len());
            self.at = start + length;
            let run = &self.text[start..self.at];
            match kind {
                Class::Pair => {
                    self.pairs(start, run);
                    return self.next_waiting();
                }
                Class::Letter if run.len() <= WORD_BYTES => {
                    self.word(start, run);
                    return true;
                }
                Class::Letter => self.position += 1,
                // A mark without a letter before it.
                Class::Mark | Class::Apart => {}
            }
        }
    }

    fn push(&mut self, range: std::ops::Range<usize>, position: usize, text: String) {
        let token =
            Token { offset_from: range.start, offset_to: range.end, position, text, position_length: 1 };
        self.waiting.push(token);
    }

    fn next_waiting(&mut self) -> bool {
        let Some(token) = self.waiting.pop() else { return false };
        self.token = token;
        true
    }

    fn word(&mut self, start: usize, run: &str) {
        let (range, position) = (start..start + run.len(), self.position);
        self.position += 1;
        self.token = Token {
            offset_from: range.start,
            offset_to: range.end,
            position,
            text: std::mem::take(&mut self.token.text),
            position_length: 1,
        };
        self.token.text.clear();
        let known = self.cache.as_ref().and_then(|cache| cache.find(self.stemmer, run));
        if let Some((stem, other)) = known {
            self.token.text.push_str(stem);
            if !other.is_empty() {
                let other = other.to_owned();
                self.push(range, position, other);
            }
            return;
        }
        let (stem, other) = stems(self.stemmer, run);
        let is_indexed = |other: &String| self.made_for == Use::Index && !other.is_empty() && *other != stem;
        let other = other.filter(is_indexed);
        if let Some(cache) = &mut self.cache {
            cache.keep(self.stemmer, run, &stem, other.as_deref().unwrap_or_default());
        }
        self.token.text.push_str(&stem);
        if let Some(other) = other {
            self.push(range, position, other);
        }
    }

    fn pairs(&mut self, start: usize, run: &str) {
        let has_characters = self.made_for == Use::Index;
        let ends: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
        let characters = ends.len() - 1;
        for at in 0..characters {
            let position = self.position + at;
            let mut add = |to: usize| {
                let text = lower(&run[ends[at]..ends[to]]).into_owned();
                self.push(start + ends[at]..start + ends[to], position, text);
            };
            if at + 2 <= characters {
                add(at + 2);
            }
            if has_characters || characters == 1 {
                add(at + 1);
            }
        }
        self.position += characters;
        self.waiting.reverse();
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        self.next_waiting() || self.make()
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// The stem of a word, and that of its folded form.
fn stems(stemmer: Option<Algorithm>, word: &str) -> (String, Option<String>) {
    let lower = lower(word);
    let folded = fold(&lower);
    let Some(stemmer) = stemmer.map(Stemmer::new) else { return (folded.into_owned(), None) };
    let stem = |word: &str| fold(&stemmer.stem(word)).into_owned();
    let of_folded = matches!(folded, Cow::Owned(_)).then(|| stem(&folded));
    (stem(&lower), of_folded)
}

/// Takes a text as one word, in lower case.
#[derive(Debug, Clone, Copy)]
struct Whole;

/// One word.
struct WholeStream {
    token: Token,
    is_new: bool,
}

impl Tokenizer for Whole {
    type TokenStream<'a> = WholeStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WholeStream {
        let token = Token {
            offset_from: 0,
            offset_to: text.len(),
            position: 0,
            text: text.to_lowercase(),
            position_length: 1,
        };
        WholeStream { token, is_new: true }
    }
}

impl TokenStream for WholeStream {
    fn advance(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// What a character is to words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Of a word.
    Letter,
    /// Of a script without blanks between words, or with words that have many forms: each two neighbours are a word.
    Pair,
    /// Belongs to the character before it.
    Mark,
    /// Of no word.
    Apart,
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { Class::Letter } else { Class::Apart };
    }
    if is_pair(c) {
        return Class::Pair;
    }
    // Joiners occur within words of Persian and of Indic scripts, the soft hyphen in any word.
    if is_combining_mark(c) || matches!(c, '\u{200c}' | '\u{200d}' | '\u{ad}') {
        return Class::Mark;
    }
    if c.is_alphanumeric() { Class::Letter } else { Class::Apart }
}

/// Han, kana, Hangul, Thai, Lao, Burmese and Khmer.
fn is_pair(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
        | '\u{3005}' | '\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{3099}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}'
        | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' | '\u{e81}'..='\u{ece}'
        | '\u{1000}'..='\u{103f}' | '\u{1780}'..='\u{17d3}')
}

/// A word in lower case, by the compatibility forms of its characters (Unicode NFKC): those of full width become ordinary ones.
fn lower(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return if word.bytes().any(|b| b.is_ascii_uppercase()) {
            Cow::Owned(word.to_ascii_lowercase())
        } else {
            Cow::Borrowed(word)
        };
    }
    let joined = |c: &char| !matches!(c, '\u{200c}' | '\u{200d}' | '\u{ad}');
    Cow::Owned(word.nfkc().filter(joined).flat_map(char::to_lowercase).collect())
}

/// A word in lower case without diacritics: of Latin and Greek letters, the points of Arabic and Hebrew, and `ё`.
fn fold(word: &str) -> Cow<'_, str> {
    if word.is_ascii() || !word.chars().any(|c| folded(c) != Fold::Stays) {
        return Cow::Borrowed(word);
    }
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        match folded(c) {
            Fold::Stays => out.push(c),
            Fold::Goes => {}
            Fold::Is(text) => out.push_str(text),
            Fold::Base => {
                decompose_canonical(c, |part| {
                    if !is_combining_mark(part) {
                        out.push(part);
                    }
                });
            }
        }
    }
    Cow::Owned(out)
}

/// What becomes of a character that is folded.
#[derive(Debug, PartialEq, Eq)]
enum Fold {
    Stays,
    Goes,
    Is(&'static str),
    /// Its letter without marks.
    Base,
}

fn folded(c: char) -> Fold {
    match c {
        'ß' => Fold::Is("ss"),
        'æ' => Fold::Is("ae"),
        'œ' => Fold::Is("oe"),
        'ø' => Fold::Is("o"),
        'ł' => Fold::Is("l"),
        'đ' | 'ð' => Fold::Is("d"),
        'þ' => Fold::Is("th"),
        'ħ' => Fold::Is("h"),
        'ŧ' => Fold::Is("t"),
        'ı' => Fold::Is("i"),
        'ё' => Fold::Is("е"),
        'ς' => Fold::Is("σ"),
        // Marks by themselves, the points of Hebrew, and those of Arabic with its stretching.
        '\u{300}'..='\u{36f}'
        | '\u{591}'..='\u{5bd}'
        | '\u{5bf}'
        | '\u{5c1}'..='\u{5c2}'
        | '\u{5c4}'..='\u{5c5}'
        | '\u{610}'..='\u{61a}'
        | '\u{640}'
        | '\u{64b}'..='\u{65f}'
        | '\u{670}' => Fold::Goes,
        '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{1e00}'..='\u{1fff}' => {
            let mut count = 0;
            decompose_canonical(c, |_| count += 1);
            if count > 1 { Fold::Base } else { Fold::Stays }
        }
        _ => Fold::Stays,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(of: &Words, text: &str) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        of.clone().token_stream(text).process(&mut |token| {
            assert!(text.get(token.offset_from..token.offset_to).is_some(), "{token:?}");
            found.push((token.position, token.text.clone()));
        });
        found
    }

    fn texts(of: &Words, text: &str) -> Vec<String> {
        words(of, text).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_in_any_script() {
        let plain = Words::of(Use::Index, "");
        assert_eq!(texts(&plain, "Rust's tokio-1.54, (a_b)"), ["rust", "s", "tokio", "1", "54", "a", "b"]);
        assert_eq!(texts(&plain, "Москва — столица"), ["москва", "столица"]);
        assert_eq!(texts(&plain, "हिन्दी में"), ["हिन्दी", "में"], "signs belong to their letters");
        assert_eq!(texts(&plain, "ＦＵＬＬ width"), ["full", "width"]);
        assert_eq!(texts(&plain, &format!("{} b", "a".repeat(101))), ["b"]);
        assert_eq!(texts(&plain, "hy\u{ad}phen"), ["hyphen"]);
    }

    #[test]
    fn diacritics_are_folded_where_they_are_no_letters_of_their_own() {
        let plain = Words::of(Use::Index, "");
        assert_eq!(
            texts(&plain, "Élève Straße smørrebrød Łódź e\u{301}te\u{301} Αθήνα ёлка йод"),
            ["eleve", "strasse", "smorrebrod", "lodz", "ete", "αθηνα", "елка", "йод"]
        );
        assert_eq!(texts(&plain, "مُحَمَّد"), ["محمد"]);
    }

    #[test]
    fn scripts_without_blanks_are_indexed_by_characters_and_pairs() {
        let index = words(&Words::of(Use::Index, ""), "東京都 a");
        let expected = [(0, "東京"), (0, "東"), (1, "京都"), (1, "京"), (2, "都"), (3, "a")];
        assert_eq!(index, expected.map(|(at, text)| (at, text.to_owned())));
        let query = words(&Words::of(Use::Query, ""), "東京都");
        assert_eq!(query, [(0, "東京".to_owned()), (1, "京都".to_owned())]);
        assert_eq!(texts(&Words::of(Use::Query, ""), "京"), ["京"]);
        assert_eq!(texts(&Words::of(Use::Query, ""), "한국어"), ["한국", "국어"]);
        assert_eq!(texts(&Words::of(Use::Query, ""), "Rust入門"), ["rust", "入門"]);
    }

    #[test]
    fn a_stemmed_word_is_found_with_and_without_its_diacritics() {
        for (code, text, queries) in [
            ("pt", "informações", ["informação", "informacoes"]),
            ("fr", "mangées", ["manger", "mangees"]),
            ("de", "Häuser", ["Haus", "hauser"]),
            ("es", "canciones", ["canción", "canciones"]),
            ("en", "indexing", ["indexes", "Index"]),
        ] {
            let index = texts(&Words::of(Use::Index, code), text);
            for query in queries {
                let query = texts(&Words::of(Use::Query, code), query);
                assert_eq!(query.len(), 1);
                assert!(index.contains(&query[0]), "{code} {text} {index:?} {query:?}");
            }
        }
        // The text leaves out what the query has.
        let index = texts(&Words::of(Use::Index, "es"), "informacion");
        let folded = folded_text("información").unwrap();
        assert!(index.contains(&texts(&Words::of(Use::Query, "es"), &folded)[0]));
        assert_eq!(folded_text("INFORMACION"), None);
    }

    #[test]
    fn words_from_the_cache_are_those_that_were_made() {
        let text = "Häuser häuser Mangées informações Straße ёлка مُحَمَّد 東京都 hauser Indexing indexing";
        for language in STEMMED.iter().map(|language| language.code).chain([""]) {
            let cached = Words::of(Use::Index, language);
            let made = words(&Words { cache: None, ..cached.clone() }, text);
            assert!(made.len() > 14);
            assert_eq!(words(&cached, text), made, "{language}");
            assert_eq!(words(&cached, text), made, "{language} again");
        }
    }

    #[test]
    fn a_field_of_one_word_is_one_word() {
        let mut found = Vec::new();
        Whole.token_stream("Docs.Example.org").process(&mut |token| found.push(token.text.clone()));
        assert_eq!(found, ["docs.example.org"]);
    }
}
