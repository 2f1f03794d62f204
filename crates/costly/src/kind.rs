//! Kinds of sites: files of data, read and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;
use serde::Deserialize;
use toml::Spanned;

use crate::class::Class;
use crate::glob::{PathPattern, QueryPattern, alternatives, segments};
use crate::url::Parts;

/// Longest file of a kind, in bytes.
const LONGEST: u64 = 256 * 1024;
/// Bytes before a text among which the bracket is that begins its tag.
const TAG: usize = 1_024;
/// Most files of a directory.
const MOST: usize = 1_000;

include!("embedded.rs");

/// What is wrong with a file of a kind: where, what, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{file}{}: {what}", line.map_or_else(String::new, |line| format!(", line {line}")))]
pub struct KindError {
    /// The file or directory.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is wrong, and what to do about it.
    pub what: String,
}

/// A kind of site: how it is recognised, and which of its URLs are costly.
#[derive(Clone, Debug)]
pub struct Kind {
    pub(crate) name: String,
    title: String,
    ignores_case: bool,
    pub(crate) signs: Vec<Sign>,
    pub(crate) mounts: Vec<String>,
    keep: Vec<Rule>,
    strip: Vec<QueryPattern>,
    shorten: Vec<(PathPattern, usize, Class)>,
    skip: Vec<Rule>,
    budget: Vec<Rule>,
    pub(crate) words: Option<Words>,
    cases: Vec<Case>,
    instead: Vec<Instead>,
}

/// A way to the content that costs the site less.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instead {
    /// What it is: `dump`, `git clone`, `api`, `oai-pmh`, `feed`.
    pub way: String,
    /// Where, as a path below the site or a page that describes it.
    pub at: String,
    /// Where this is described.
    pub source: String,
}

/// A sign of a kind.
#[derive(Clone, Debug)]
pub(crate) struct Sign {
    pub(crate) what: What,
    pub(crate) is_weak: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    /// The beginning of a generator, lower case.
    Generator(String),
    /// The name of a cookie, a pattern.
    Cookie(String),
    /// A header field, lower case, and a part of its value.
    Header(String, String),
    /// A text within a tag.
    Markup(String),
    /// The path of the page.
    Path(PathPattern),
}

/// A word of a kind that differs by language.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Words {
    /// Its name in patterns: `{special}`.
    pub(crate) name: String,
    /// The word in some languages. The first one is that of the program.
    pub(crate) known: Vec<String>,
    /// Two texts of a page, one behind the other, behind which is the site's own word, up to a quotation mark.
    pub(crate) after: Vec<String>,
}

#[derive(Clone, Debug)]
struct Rule {
    class: Class,
    paths: Vec<PathPattern>,
    queries: Vec<QueryPattern>,
    all: Vec<QueryPattern>,
    without: Vec<QueryPattern>,
}

/// A URL of a kind and what is done about it: a test of the file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The page that has the link.
    pub page: String,
    /// The link that is judged, as an absolute URL.
    pub link: String,
    /// `skip`, `budget`, `normalise` or `keep`.
    pub expected: String,
    /// The URL that a normalised one becomes.
    pub to: Option<String>,
    /// The class of what isn't kept.
    pub class: Option<Class>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    title: String,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    mount: Vec<String>,
    words: Option<Words>,
    #[serde(default)]
    sign: Vec<Spanned<SignLine>>,
    #[serde(default)]
    keep: Vec<Spanned<KeepLine>>,
    #[serde(default)]
    strip: Vec<StripLine>,
    #[serde(default)]
    shorten: Vec<ShortenLine>,
    #[serde(default)]
    skip: Vec<Spanned<Line>>,
    #[serde(default)]
    budget: Vec<Spanned<Line>>,
    #[serde(default)]
    instead: Vec<Instead>,
    #[serde(default)]
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignLine {
    generator: Option<String>,
    cookie: Option<String>,
    header: Option<String>,
    #[serde(default)]
    value: String,
    markup: Option<String>,
    path: Option<String>,
    #[serde(default)]
    weak: bool,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeepLine {
    #[serde(default)]
    path: Vec<String>,
    #[serde(default)]
    query: Vec<String>,
    #[serde(default)]
    all: Vec<String>,
    #[serde(default)]
    without: Vec<String>,
    source: String,
}

impl KeepLine {
    /// The same with a class, which nobody asks for.
    fn as_line(&self) -> Line {
        let Self { path, query, all, without, source } = self;
        Line {
            class: Class::Variant,
            path: path.clone(),
            query: query.clone(),
            all: all.clone(),
            without: without.clone(),
            source: source.clone(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    class: Class,
    #[serde(default)]
    path: Vec<String>,
    #[serde(default)]
    query: Vec<String>,
    #[serde(default)]
    all: Vec<String>,
    #[serde(default)]
    without: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StripLine {
    names: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShortenLine {
    path: String,
    segments: usize,
    class: Class,
    source: String,
}

/// What a kind says of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Saying {
    /// It is kept, whatever the rules of any site say of sorts, facets and variants.
    Keep,
    Skip(Class),
    Budget(Class),
    /// It is another URL: the path, shortened.
    Shorten(String, Class),
}

impl Kind {
    /// Reads a kind from a text.
    ///
    /// # Errors
    ///
    /// The text isn't a kind: not TOML, an unknown field or class, a line without source, a pattern that matches everything.
    pub fn parse(text: &str, file: &str) -> Result<Self, KindError> {
        let wrong = |span: Option<Range<usize>>, what: String| {
            let line =
                span.and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
            KindError { file: file.to_owned(), line, what }
        };
        let read: File = toml::from_str(text).map_err(|error| {
            let advice = "see the files of configs/kinds for what a kind may say";
            wrong(error.span(), format!("{}; {advice}", error.message().replace('\n', " ")))
        })?;
        let is_name = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        if !is_name(read.name.as_ref()) || read.name.as_ref() == "any" {
            let what =
                "the name of a kind has lower-case letters, digits and `-`, and isn't `any`".to_owned();
            return Err(wrong(Some(read.name.span()), what));
        }
        if read.sign.is_empty() {
            return Err(wrong(None, "a kind needs a sign: add a table [[sign]]".to_owned()));
        }
        let words = read.words.clone();
        let ignores_case = read.ignore_case;
        let folded = |text: &str| if ignores_case { text.to_lowercase() } else { text.to_owned() };
        let rule = |line: &Line, span: Range<usize>| -> Result<Rule, KindError> {
            let wrong = |what: String| wrong(Some(span.clone()), what);
            if line.source.trim().is_empty() {
                return Err(wrong("`source` is empty: say where this is known from".to_owned()));
            }
            if line.path.is_empty() && line.query.is_empty() && line.all.is_empty() {
                return Err(wrong(
                    "neither `path` nor `query` nor `all`: it would hold for every URL".to_owned(),
                ));
            }
            let mut rule = Rule {
                class: line.class,
                paths: Vec::new(),
                queries: Vec::new(),
                all: Vec::new(),
                without: Vec::new(),
            };
            for path in &line.path {
                let is_all = path.contains('*') && path.chars().all(|c| matches!(c, '/' | '*'));
                if !path.starts_with('/') || is_all && line.query.is_empty() && line.all.is_empty() {
                    let what = format!("the path `{path}` begins with no slash, or holds for every URL");
                    return Err(wrong(what));
                }
                let path = folded(path);
                for path in written_out(&path, words.as_ref()).ok_or_else(|| {
                    wrong(format!(
                        "the braces of `{path}` aren't closed, or stand for more than 500 patterns"
                    ))
                })? {
                    rule.paths.push(PathPattern::new(&path));
                }
            }
            for (lines, patterns) in [
                (&line.query, &mut rule.queries),
                (&line.all, &mut rule.all),
                (&line.without, &mut rule.without),
            ] {
                for query in lines {
                    let query = folded(query);
                    let written = written_out(&query, words.as_ref()).filter(|_| {
                        !query.starts_with(['=', '!']) && (!query.starts_with('*') || !line.path.is_empty())
                    });
                    let written = written.ok_or_else(|| wrong(format!("`{query}` has no name of a parameter at its beginning, or braces that aren't closed")))?;
                    patterns.extend(written.iter().map(|query| QueryPattern::new(query)));
                }
            }
            Ok(rule)
        };
        let rules = |lines: &[Spanned<Line>]| -> Result<Vec<Rule>, KindError> {
            lines.iter().map(|line| rule(line.get_ref(), line.span())).collect()
        };
        let mut keep = Vec::new();
        for line in &read.keep {
            keep.push(rule(&line.get_ref().as_line(), line.span())?);
        }
        let mut signs = Vec::new();
        for line in &read.sign {
            let sign = line.get_ref();
            let mut whats = Vec::new();
            whats.extend(sign.generator.as_ref().map(|text| What::Generator(text.to_lowercase())));
            whats.extend(sign.cookie.clone().map(What::Cookie));
            whats.extend(
                sign.header.as_ref().map(|name| What::Header(name.to_lowercase(), sign.value.clone())),
            );
            whats.extend(sign.markup.clone().map(What::Markup));
            whats.extend(sign.path.as_ref().map(|path| What::Path(PathPattern::new(path))));
            let is_one = whats.len() == 1 && !sign.source.trim().is_empty();
            let Some(what) = whats.pop().filter(|_| is_one) else {
                let what =
                    "a sign has one of `generator`, `cookie`, `header`, `markup` and `path`, and a source"
                        .to_owned();
                return Err(wrong(Some(line.span()), what));
            };
            if matches!(what, What::Path(_)) && !sign.weak {
                return Err(wrong(
                    Some(line.span()),
                    "a path alone is a weak sign: add `weak = true`".to_owned(),
                ));
            }
            signs.push(Sign { what, is_weak: sign.weak });
        }
        let has_sources = read.strip.iter().all(|line| !line.source.trim().is_empty())
            && read.shorten.iter().all(|line| !line.source.trim().is_empty());
        if !has_sources {
            return Err(wrong(
                None,
                "a line of `strip` or `shorten` has an empty source: say where it is known from".to_owned(),
            ));
        }
        Ok(Self {
            skip: rules(&read.skip)?,
            budget: rules(&read.budget)?,
            keep,
            strip: read
                .strip
                .iter()
                .flat_map(|line| &line.names)
                .map(|name| QueryPattern::new(name))
                .collect(),
            shorten: read
                .shorten
                .iter()
                .map(|line| (PathPattern::new(&folded(&line.path)), line.segments, line.class))
                .collect(),
            name: read.name.into_inner(),
            title: read.title,
            signs,
            mounts: read.mount,
            words: read.words,
            ignores_case,
            cases: read.case,
            instead: read.instead,
        })
    }

    /// The name, as in the reason `mediawiki:diff`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name for people: `MediaWiki`.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The file's own tests.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Ways to the content that cost the site less.
    pub fn instead(&self) -> &[Instead] {
        &self.instead
    }

    /// What the kind says of a URL below where the site begins. `word` is the site's own word for [`Words`], if it has one.
    pub(crate) fn say(&self, parts: &Parts<'_>, prefix: &str, word: Option<&str>) -> Option<Saying> {
        let relative = parts.path.strip_prefix(prefix.trim_end_matches('/')).unwrap_or(parts.path);
        let own = |text: &str| {
            let text = match &self.words {
                Some(words) => words.own(text, word),
                None => text.to_owned(),
            };
            if self.ignores_case { text.to_lowercase() } else { text }
        };
        // Plus signs of a path are themselves.
        let path = own(&crate::url::decoded(&relative.replace('+', "%2B")));
        let path: Vec<&str> = segments(&path).collect();
        let pairs: Vec<(String, String)> =
            parts.pairs().map(|(name, value)| (name.into_owned(), own(&value))).collect();
        let holds = |rule: &&Rule| rule.holds(&path, &pairs);
        if self.keep.iter().any(|rule| holds(&rule)) {
            return Some(Saying::Keep);
        }
        if let Some(rule) = self.budget.iter().find(holds) {
            return Some(Saying::Budget(rule.class));
        }
        if let Some(rule) = self.skip.iter().find(holds) {
            return Some(Saying::Skip(rule.class));
        }
        let shorten = self.shorten.iter().find(|(pattern, ..)| pattern.is(&path));
        if let Some((_, count, class)) = shorten {
            return Some(Saying::Shorten(first_segments(parts.path, relative, *count), *class));
        }
        None
    }

    /// Whether the kind shortens paths.
    pub(crate) fn shortens(&self) -> bool {
        !self.shorten.is_empty()
    }

    /// The path that this one is shortened to, on a site that begins at `prefix`.
    pub(crate) fn shortened(&self, parts: &Parts<'_>, prefix: &str) -> Option<String> {
        match self.say(parts, prefix, None)? {
            Saying::Shorten(path, _) => Some(path),
            _ => None,
        }
    }

    /// Whether a parameter is one that the kind's sites put on links without a meaning of its own.
    pub(crate) fn strips(&self, name: &str) -> bool {
        self.strip.iter().any(|pattern| pattern.names(name))
    }
}

/// A path up to its first segments behind where the site begins. `relative` is the end of it.
fn first_segments(path: &str, relative: &str, count: usize) -> String {
    let starts = relative.match_indices('/').map(|(start, _)| start).skip(1);
    let end = starts.chain([relative.len()]).take(count).last().unwrap_or_default();
    path[..path.len() - relative.len() + end].to_owned()
}

impl Rule {
    fn holds(&self, path: &[&str], pairs: &[(String, String)]) -> bool {
        let has = |pattern: &QueryPattern| pairs.iter().any(|(name, value)| pattern.is(name, value));
        (self.paths.is_empty() || self.paths.iter().any(|pattern| pattern.is(path)))
            && (self.queries.is_empty() || self.queries.iter().any(has))
            && self.all.iter().all(has)
            && !self.without.iter().any(has)
    }
}

impl Words {
    /// A text whose word is the program's own: `Spezial:X` as `Special:X`. `of_site` is the site's word.
    fn own(&self, text: &str, of_site: Option<&str>) -> String {
        let Some(own) = self.known.first() else { return text.to_owned() };
        let Some(colon) = text.find(':') else { return text.to_owned() };
        let start = text[..colon].rfind('/').map_or(0, |slash| slash + 1);
        let word = text[start..colon].replace(' ', "_").to_lowercase();
        let is_it = |known: &str| known.to_lowercase() == word;
        if self.known.iter().map(String::as_str).chain(of_site).any(is_it) {
            format!("{}{own}{}", &text[..start], &text[colon..])
        } else {
            text.to_owned()
        }
    }
}

/// A pattern with its braces written out. The word of a kind is the program's own.
fn written_out(text: &str, words: Option<&Words>) -> Option<Vec<String>> {
    let own =
        words.and_then(|words| Some((format!("{{{}}}", words.name), words.known.first()?.to_lowercase())));
    alternatives(&own.map_or_else(|| text.to_owned(), |(name, own)| text.replace(&name, &own)))
}

/// The kinds of sites that are known, by name.
#[derive(Clone, Debug, Default)]
pub struct Kinds {
    by_name: BTreeMap<String, Kind>,
    /// The texts within tags that are signs of any kind, and what finds them in one pass.
    markup: Vec<String>,
    finder: Option<AhoCorasick>,
}

impl Kinds {
    /// The kinds that come with this crate.
    ///
    /// # Errors
    ///
    /// None that a test hasn't found: `every_kind_can_be_read_and_passes_its_own_cases`.
    pub fn embedded() -> Result<Self, KindError> {
        let mut kinds = Self::default();
        for (file, text) in EMBEDDED {
            let kind = Kind::parse(text, file)?;
            kinds.by_name.insert(kind.name.clone(), kind);
        }
        kinds.arrange();
        Ok(kinds)
    }

    /// Adds the files `*.toml` of a directory. A kind of the same name is replaced.
    ///
    /// # Errors
    ///
    /// The directory can't be read, has more than 1,000 files, or one of them is larger than 256 KiB or no kind; two files give one name.
    pub fn add_directory(&mut self, directory: &Path) -> Result<(), KindError> {
        let wrong =
            |path: &Path, what: String| KindError { file: path.display().to_string(), line: None, what };
        let entries =
            fs::read_dir(directory).map_err(|error| wrong(directory, format!("can't be read: {error}")))?;
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| wrong(directory, format!("can't be read: {error}")))?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                files.push(path);
            }
            if files.len() > MOST {
                return Err(wrong(
                    directory,
                    format!("has more than {MOST} files: name a directory of kinds alone"),
                ));
            }
        }
        files.sort();
        let mut added = BTreeMap::new();
        for file in files {
            let length =
                fs::metadata(&file).map_err(|error| wrong(&file, format!("can't be read: {error}")))?.len();
            if length > LONGEST {
                return Err(wrong(&file, format!("has {length} bytes, more than {LONGEST}: split the kind")));
            }
            let text =
                fs::read_to_string(&file).map_err(|error| wrong(&file, format!("can't be read: {error}")))?;
            let kind = Kind::parse(&text, &file.display().to_string())?;
            if let Some(before) = added.insert(kind.name.clone(), file.clone()) {
                let what = format!(
                    "the kind `{}` is that of {} too: give it another name",
                    kind.name,
                    before.display()
                );
                return Err(wrong(&file, what));
            }
            self.by_name.insert(kind.name.clone(), kind);
        }
        self.arrange();
        Ok(())
    }

    fn arrange(&mut self) {
        let signs = self.by_name.values().flat_map(|kind| &kind.signs);
        let texts = signs.filter_map(|sign| match &sign.what {
            What::Markup(text) => Some(text.clone()),
            _ => None,
        });
        self.markup = texts.collect();
        self.markup.sort();
        self.markup.dedup();
        self.finder = AhoCorasick::new(&self.markup).ok();
    }

    /// Which of the texts that are signs are within tags of a markup.
    pub(crate) fn in_tags(&self, markup: &str) -> BTreeSet<&str> {
        let bytes = markup.as_bytes();
        let mut found = BTreeSet::new();
        for place in self.finder.iter().flat_map(|finder| finder.find_overlapping_iter(markup)) {
            let Some(text) = self.markup.get(place.pattern().as_usize()) else { continue };
            if found.contains(text.as_str()) {
                continue;
            }
            let before = &bytes[place.start().saturating_sub(TAG)..place.start()];
            let is_open = memchr::memrchr2(b'<', b'>', before).is_some_and(|bracket| before[bracket] == b'<');
            if is_open || text.starts_with('<') {
                found.insert(text.as_str());
            }
        }
        found
    }

    /// The kind of a name.
    pub fn get(&self, name: &str) -> Option<&Kind> {
        self.by_name.get(name)
    }

    /// All kinds, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Kind> {
        self.by_name.values()
    }
}
