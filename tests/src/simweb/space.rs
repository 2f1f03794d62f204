//! Sites with infinite spaces of URLs: a finite number of real pages, and links that never end. Each page is a function of its URL.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// How URLs multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SpaceKind {
    /// `/p5;jsessionid=...`, new in each response.
    JavaSession,
    /// `/(S(...))/p5`.
    AspNetSession,
    /// `/p5?PHPSESSID=...`.
    PhpSession,
    /// A new word of 20 letters before each path.
    WordFirst,
    /// The same below a folder.
    WordWithin,
    /// The same as the last segment.
    WordLast,
    /// A new word as the value of a parameter.
    WordInQuery,
    /// A new word as the value of a parameter of the path.
    WordInPath,
    /// Every unknown URL has one page with three relative links.
    RelativeMenu,
    /// The same with links to the root's menu, and eight of them.
    WideMenu,
    /// Sort orders that are appended to the query.
    SortOrders,
    /// Each subset of twelve filters.
    Facets,
    /// Months without events, forwards and backwards.
    Months,
    /// Days without events, by path.
    Days,
    /// A list whose last page is repeated forever.
    Pager,
    /// A print version of the print version.
    Print,
    /// Mirrors of the site within its mirrors.
    Mirrors,
    /// The same with languages.
    Languages,
    /// Any word finds one of the pages.
    AnyWord,
    /// Differences between each two of many revisions.
    Revisions,
    /// Searches within the results.
    Searches,
    /// Intersections of tags.
    Tags,
    /// A map at each zoom.
    Tiles,
    /// The URL of the page before, in a parameter.
    Referrer,
    /// Made-up continuations.
    Continuations,
    /// Redirects to redirects.
    Redirects,
    /// A script that takes itself for a folder.
    PathInfo,
    /// Letters in either case.
    Case,
    /// One more slash.
    Slashes,
}

impl SpaceKind {
    /// Every kind, each once.
    pub const ALL: [Self; 29] = [
        Self::JavaSession,
        Self::AspNetSession,
        Self::PhpSession,
        Self::WordFirst,
        Self::WordWithin,
        Self::WordLast,
        Self::WordInQuery,
        Self::WordInPath,
        Self::RelativeMenu,
        Self::WideMenu,
        Self::SortOrders,
        Self::Facets,
        Self::Months,
        Self::Days,
        Self::Pager,
        Self::Print,
        Self::Mirrors,
        Self::Languages,
        Self::AnyWord,
        Self::Revisions,
        Self::Searches,
        Self::Tags,
        Self::Tiles,
        Self::Referrer,
        Self::Continuations,
        Self::Redirects,
        Self::PathInfo,
        Self::Case,
        Self::Slashes,
    ];
}

/// What a site with a space answers with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// A page, with its content's number if it is real.
    Page(Option<usize>, String),
    /// A redirect.
    Moved(String),
}

/// One site with an infinite space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// How its URLs multiply.
    pub kind: SpaceKind,
    /// Real pages.
    pub pages: usize,
    /// Seed of its words.
    pub seed: u64,
}

/// Links of a page to further real ones.
const CHILDREN: usize = 5;

impl Space {
    /// The answer to a path with query.
    pub fn answer(&self, path: &str) -> Shown {
        if self.kind == SpaceKind::Redirects && path.starts_with("/go/") {
            return Shown::Moved(format!("/go/{}", self.word(path, 0)));
        }
        let page = self.page_at(path);
        let (text, own) = match page {
            Some(page) => (self.text(page), self.children(page).collect()),
            None => ("<p>There is nothing here that you could be looking for.".to_owned(), Vec::new()),
        };
        let mut body = text;
        for (place, child) in own.into_iter().chain([0]).enumerate() {
            let _ = write!(body, "<a href='{}'>a</a>", self.link(path, child, place));
        }
        for link in self.endless(path, page) {
            let _ = write!(body, "<a href='{link}'>b</a>");
        }
        Shown::Page(page, body)
    }

    /// The real pages that these paths show.
    pub fn found<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> BTreeSet<usize> {
        paths.into_iter().filter_map(|path| self.page_at(path)).collect()
    }

    fn children(&self, page: usize) -> impl Iterator<Item = usize> {
        (CHILDREN * page + 1..=CHILDREN * page + CHILDREN).filter(|child| *child < self.pages)
    }

    /// Text that is on no other page.
    fn text(&self, page: usize) -> String {
        (0..30).fold(format!("<h1>{}</h1>", letters(page as u64)), |mut text, word| {
            let _ = write!(text, "{} ", self.word("text", page * 100 + word));
            text
        })
    }

    /// A word of 20 letters.
    fn word(&self, of: &str, number: usize) -> String {
        let mut hash = self.seed ^ 0x9E37_79B9_7F4A_7C15 ^ number as u64;
        for byte in of.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        (0..20)
            .map(|_| {
                hash = hash.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                char::from(b'a' + (hash >> 33) as u8 % 26)
            })
            .collect()
    }

    /// 32 hexadecimal digits.
    fn id(&self, of: &str, number: usize) -> String {
        let word = self.word(of, number) + &self.word(of, number + 7);
        word.bytes()
            .take(32)
            .map(|letter| char::from(b"0123456789ABCDEF"[usize::from(letter % 16)]))
            .collect()
    }

    /// A link on the page at `from` to a real page.
    fn link(&self, from: &str, page: usize, place: usize) -> String {
        let (word, id) = (self.word(from, place), || self.id(from, place));
        match self.kind {
            SpaceKind::JavaSession => format!("/p{page};jsessionid={}", id()),
            SpaceKind::AspNetSession => format!("/(S({}))/p{page}", &id().to_lowercase()[..24]),
            SpaceKind::PhpSession => format!("/p{page}?PHPSESSID=0{}", id()),
            SpaceKind::WordFirst => format!("/{word}/p{page}"),
            SpaceKind::WordWithin => format!("/shop/{word}/p{page}"),
            SpaceKind::WordLast => format!("/p{page}/{word}"),
            SpaceKind::WordInQuery => format!("/p{page}?t={word}"),
            SpaceKind::WordInPath => format!("/p{page};view={word}"),
            SpaceKind::Mirrors | SpaceKind::Languages => format!("p{page}"),
            SpaceKind::Referrer => format!("/p{page}?from={}", encoded(from)),
            SpaceKind::Case => {
                let name = "overviewofthesection".bytes().zip(word.bytes());
                let name =
                    name.map(|(letter, coin)| char::from(letter - 32 * (coin % 2))).collect::<String>();
                format!("/{name}/p{page}")
            }
            _ => format!("/p{page}"),
        }
    }

    /// Links without end.
    fn endless(&self, from: &str, page: Option<usize>) -> Vec<String> {
        let (path, query) = from.split_once('?').unwrap_or((from, ""));
        let all =
            |names: &[&str], link: &dyn Fn(&str) -> String| names.iter().map(|name| link(name)).collect();
        let is_in = |folder: &str| path.starts_with(folder);
        let number = |text: &str| text.rsplit(['/', '=']).next().and_then(|end| end.parse::<i64>().ok());
        match self.kind {
            SpaceKind::RelativeMenu => all(&["products/", "about/", "contact/"], &str::to_owned),
            SpaceKind::WideMenu => {
                let names = ["a/", "b/", "c/", "d/", "/e/", "/f/", "g", "h?x=1"];
                all(&names, &str::to_owned)
            }
            SpaceKind::SortOrders => {
                all(&["name", "date", "size"], &|by| format!("{path}?{query}&sort={by}"))
            }
            SpaceKind::Facets => (0..12)
                .map(|each| format!("f{each}=1"))
                .filter(|each| !query.split('&').any(|known| known == each))
                .map(|each| format!("/list?{query}&{each}"))
                .collect(),
            SpaceKind::Months => {
                let at = number(query).unwrap_or(0);
                vec![format!("/cal?m={}", at + 1), format!("/cal?m={}", at - 1)]
            }
            SpaceKind::Days => {
                let at = number(path).unwrap_or(0);
                vec![
                    format!("/calendar/2026/{}/{}", at % 12, at + 1),
                    format!("/calendar/{}/1/{}", 2000 + at, at + 2),
                ]
            }
            SpaceKind::Pager => vec![format!("/list?page={}", number(query).unwrap_or(0) + 1)],
            SpaceKind::Print => vec![format!("{path}?{query}&print=1")],
            SpaceKind::Mirrors => all(&["mirror1/", "mirror2/"], &|to| format!("{to}p{}", page.unwrap_or(0))),
            SpaceKind::Languages => {
                all(&["en/", "de/", "fr/", "it/"], &|to| format!("{to}p{}", page.unwrap_or(0)))
            }
            SpaceKind::AnyWord => (0..5).map(|each| format!("/find/{}", self.word(from, each))).collect(),
            SpaceKind::Revisions => {
                let at = number(query).unwrap_or(1);
                let pairs = (1..5).map(|each| (at + each, at * each));
                pairs.map(|(a, b)| format!("/history?a={a}&b={b}")).collect()
            }
            SpaceKind::Searches => all(&["red", "blue", "old"], &|word| {
                if is_in("/search") { format!("/search?{query}+{word}") } else { format!("/search?q={word}") }
            }),
            SpaceKind::Tags => all(&["red", "blue", "old"], &|word| {
                if is_in("/tag/") { format!("{path}+{word}") } else { format!("/tag/{word}") }
            }),
            SpaceKind::Tiles => {
                let at = number(path).unwrap_or(0);
                let depth = path.matches('/').count();
                (0..4).map(|each| format!("/map/{depth}/{}/{}", each % 2, 4 * at + each)).collect()
            }
            SpaceKind::Continuations => {
                (0..3).map(|each| format!("/more?c={}", self.id(from, each))).collect()
            }
            SpaceKind::Redirects => vec!["/go/on".to_owned()],
            SpaceKind::PathInfo => all(&["index.php/", "index.php/news", "index.php/team"], &str::to_owned),
            SpaceKind::Slashes => vec![format!("{path}//"), format!("{path}/?{query}&")],
            _ => Vec::new(),
        }
    }

    /// The real page that a path shows.
    fn page_at(&self, from: &str) -> Option<usize> {
        let (path, query) = from.split_once('?').unwrap_or((from, ""));
        let path = path.split_once(';').map_or(path, |(path, _)| path);
        if path == "/" && query.is_empty() {
            return Some(0);
        }
        let segments = || path.split('/').filter(|segment| !segment.is_empty());
        let named = |segment: Option<&str>| {
            let number = segment?.strip_prefix('p')?.parse().ok();
            number.filter(|page: &usize| *page < self.pages)
        };
        let first = named(segments().next());
        let last = named(segments().next_back());
        let is_short = segments().count() == 1;
        match self.kind {
            SpaceKind::WordFirst
            | SpaceKind::WordWithin
            | SpaceKind::AspNetSession
            | SpaceKind::Mirrors
            | SpaceKind::Languages
            | SpaceKind::Case
            | SpaceKind::Slashes => last,
            SpaceKind::WordLast => first,
            SpaceKind::AnyWord if path.starts_with("/find/") => {
                Some(path.len() + usize::from(path.as_bytes()[6])).map(|sum| sum % self.pages)
            }
            SpaceKind::Continuations if path == "/more" => {
                Some(query.bytes().map(usize::from).sum::<usize>() % self.pages)
            }
            _ => first.filter(|_| is_short),
        }
    }
}

/// A number in letters.
fn letters(mut number: u64) -> String {
    let mut word = String::new();
    loop {
        word.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return word;
        }
    }
}

/// A URL as the value of a parameter.
fn encoded(path: &str) -> String {
    path.replace('%', "%25").replace('?', "%3F").replace('&', "%26").replace('=', "%3D")
}
