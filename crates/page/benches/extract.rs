//! How fast a page is read, beside the tokenizers that could have done it.
//!
//! `cargo bench -p crawler --bench extract`. With `REALWEB_ROOT` set, real documentation pages below it are read, too.
//!
//! What following XML and foreign content costs [`extract`], in instructions (callgrind), which don't depend on load, against the
//! commit before it (d3c5107), without and with text: the generated page +1.7 % and +1.3 %, 200 real pages +1.2 % and +1.0 %, 100 KB
//! of nothing but tags +2.0 % and +1.8 %, a page of 225 bytes +2.5 % (520 instructions) and +2.0 %. Not in these figures: what
//! `extract::read` adds before and after, about 8,500 instructions a page, and a second reading where a page is XML as well.

#![expect(clippy::unwrap_used, clippy::format_push_string, reason = "a benchmark may stop where a test may")]

use std::cell::Cell;
use std::hint::black_box;
use std::path::Path;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use lol_html::{HtmlRewriter, Settings, element, text};
use page::extract::{
    ExtractInput, ExtractLimits, Extracted, HowMany, SelectLimits, SelectRule, Take, decode, extract, select,
};
use url::Url;

/// A page of 42 KB with 62 links: prose, headings, lists, code.
fn generated() -> Vec<u8> {
    let mut html = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Page &amp; more</title>\n\
         <meta name=\"description\" content=\"A page\">\n<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n",
    );
    for n in 0..31 {
        html += &format!("<h2 id=\"s{n}\">Section {n}</h2>\n<p class=\"lead\">");
        for word in 0..150 {
            html += ["lorem ", "ipsum ", "<em>dolor</em> ", "sit ", "amet, ", "consetetur "][word % 6];
        }
        html +=
            &format!("<a class=\"reference internal\" href=\"../library/page{n}.html\">page {n}</a> and ");
        html += &format!(
            "<a href=\"https://other.example/x?a={n}&amp;b=2\">that</a>.</p>\n<pre><span>let</span> x;</pre>\n"
        );
    }
    html += "</body></html>\n";
    html.into_bytes()
}

fn real() -> Vec<Vec<u8>> {
    fn walk(folder: &Path, pages: &mut Vec<Vec<u8>>) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                walk(&entry.path(), pages);
            } else if kind.is_file() && entry.path().extension().is_some_and(|e| e == "html") {
                pages.push(std::fs::read(entry.path()).unwrap());
            }
        }
    }
    let mut pages = Vec::new();
    if let Some(root) = std::env::var_os("REALWEB_ROOT") {
        walk(&Path::new(&root).join("root"), &mut pages);
    }
    pages.into_iter().step_by(7).collect()
}

fn ours(body: &[u8], url: &Url, limits: &ExtractLimits, want_text: bool) -> usize {
    let content_type = Some("text/html; charset=utf-8");
    extract(&ExtractInput {
        body,
        content_type,
        url,
        link_headers: &[],
        limits,
        want_text,
        want_styles: false,
    })
    .links
    .len()
}

/// Addresses, metas and title, addresses neither decoded nor resolved.
fn with_lol_html(body: &[u8]) -> usize {
    let (mut links, mut title) = (0, String::new());
    let settings = Settings::new()
        .with_strict(false)
        .append_element_content_handler(element!("a[href],area[href],link[href],base[href]", |e| {
            links += e.get_attribute("href").map_or(0, |h| h.len());
            Ok(())
        }))
        .append_element_content_handler(element!("meta", |e| {
            black_box((e.get_attribute("name"), e.get_attribute("content")));
            Ok(())
        }))
        .append_element_content_handler(element!("img[src],script[src],iframe[src]", |e| {
            black_box(e.get_attribute("src"));
            Ok(())
        }))
        .append_element_content_handler(text!("title", |t| {
            title.push_str(t.as_str());
            Ok(())
        }));
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(body).unwrap();
    rewriter.end().unwrap();
    black_box(title.len());
    links
}

/// Tokens with the library's own emitter, nothing done with them.
fn with_html5gum_tokens(html: &str) -> usize {
    html5gum::Tokenizer::new(html).filter(|token| matches!(token, Ok(html5gum::Token::StartTag(_)))).count()
}

#[derive(Default)]
struct Count(Cell<usize>);

impl TokenSink for Count {
    type Handle = ();
    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let Token::TagToken(tag) = token else { return TokenSinkResult::Continue };
        self.0.set(self.0.get() + tag.attrs.len());
        match &*tag.name {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" => TokenSinkResult::RawData(RawKind::Rawtext),
            "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }
}

fn with_html5ever_tokens(html: &str) -> usize {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let tokenizer = Tokenizer::new(Count::default(), TokenizerOpts::default());
    drop(tokenizer.feed(&input));
    tokenizer.end();
    tokenizer.sink.0.get()
}

fn compare(c: &mut Criterion) {
    let url = Url::parse("http://e.example/docs/howto/page.html").unwrap();
    let limits = ExtractLimits::default();
    let rule = [SelectRule::new("h", "h1, h2", Take::Text, HowMany::All).unwrap()];
    for (name, pages) in [("generated", vec![generated()]), ("real", real())] {
        if pages.is_empty() {
            eprintln!("SKIPPED: no real pages, REALWEB_ROOT isn't set");
            continue;
        }
        let texts: Vec<_> = pages.iter().map(|p| decode(p, None, &url).text).collect();
        let mut group = c.benchmark_group(format!("extract {name}"));
        group.throughput(Throughput::Bytes(pages.iter().map(|p| p.len() as u64).sum()));
        group.sample_size(if name == "real" { 10 } else { 100 });
        for want_text in [false, true] {
            group.bench_function(
                BenchmarkId::new("ours", if want_text { "with text" } else { "links" }),
                |b| {
                    b.iter(|| pages.iter().map(|p| ours(p, &url, &limits, want_text)).sum::<usize>());
                },
            );
        }
        group
            .bench_function("lol_html", |b| b.iter(|| pages.iter().map(|p| with_lol_html(p)).sum::<usize>()));
        group.bench_function("html5gum tokens", |b| {
            b.iter(|| texts.iter().map(|t| with_html5gum_tokens(t)).sum::<usize>());
        });
        group.bench_function("html5ever tokens", |b| {
            b.iter(|| texts.iter().map(|t| with_html5ever_tokens(t)).sum::<usize>());
        });
        group.bench_function("decode", |b| {
            b.iter(|| pages.iter().map(|p| decode(p, None, &url).text.len()).sum::<usize>());
        });
        group.bench_function("tree and selector", |b| {
            let limits = SelectLimits { nodes: usize::MAX, depth: usize::MAX, ..SelectLimits::default() };
            b.iter(|| {
                texts.iter().map(|t| select(t, &rule, &limits).unwrap().fields[0].values.len()).sum::<usize>()
            });
        });
        group.finish();
    }
}

/// A page of 100 KB as many are: a head full of metas, links with `rel`, structured data, prose.
fn published() -> Vec<u8> {
    let mut html = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>A story | The Paper</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"description\" content=\"What the council decided on Tuesday, &amp; why the bridge stays closed.\">\n\
         <meta name=\"keywords\" content=\"council, bridge, traffic, town hall, spending\">\n\
         <meta name=\"robots\" content=\"index, follow, max-snippet:-1, max-image-preview:large, max-video-preview:-1\">\n\
         <meta name=\"googlebot\" content=\"index, follow, unavailable_after: 2030-09-21\">\n\
         <meta name=\"author\" content=\"Ann Author\">\n<meta property=\"og:type\" content=\"article\">\n\
         <meta property=\"og:title\" content=\"A story\">\n\
         <meta property=\"og:description\" content=\"What the council decided on Tuesday.\">\n\
         <meta property=\"og:url\" content=\"https://paper.example/2026/01/story\">\n\
         <meta property=\"og:image\" content=\"https://paper.example/i/story.jpg\">\n\
         <meta name=\"twitter:card\" content=\"summary_large_image\">\n<meta name=\"twitter:title\" content=\"A story\">\n\
         <meta name=\"twitter:description\" content=\"What the council decided.\">\n\
         <meta name=\"theme-color\" content=\"#203040\">\n<meta name=\"tdm-reservation\" content=\"1\">\n\
         <link rel=\"canonical\" href=\"https://paper.example/2026/01/story\">\n\
         <link rel=\"alternate\" hreflang=\"de\" href=\"/de/story\">\n<link rel=\"stylesheet\" href=\"/style.css\">\n\
         <script type=\"application/ld+json\">{\"@type\": \"NewsArticle\", \"headline\": \"A story\"}</script>\n\
         </head>\n<body>\n<header role=\"banner\"><nav><ul class=\"menu\">\n",
    );
    for n in 0..120 {
        html += &format!(
            "<li class=\"menu-item\"><a class=\"item-link\" href=\"/section/{n}\">Section {n}</a></li>\n"
        );
    }
    html += "</ul></nav></header>\n<main><article>\n";
    for n in 0..90 {
        html += &format!("<p class=\"story-text\" id=\"p{n}\">");
        for word in 0..120 {
            html += ["The ", "council ", "met ", "on ", "<em>Tuesday</em>, ", "again "][word % 6];
        }
        html += &format!(
            "<a href=\"/2026/01/story-{n}\">more</a></p>\n<figure><img src=\"/i/{n}.jpg\" alt=\"\"></figure>\n"
        );
    }
    html += "</article><aside>";
    for n in 0..40 {
        html += &format!(
            "<a rel=\"sponsored nofollow noopener\" href=\"https://shop.example/{n}\">An offer</a>\n"
        );
    }
    html +=
        "</aside></main><footer><p><a rel=\"license\" href=\"/terms\">Terms</a></p></footer></body></html>\n";
    html.into_bytes()
}

/// What reading the directives adds to the extract pass, measured in turns within one run: collecting the metas,
/// `meta::resolve`, consent statements, and `rel` of each link.
fn directives(c: &mut Criterion) {
    let url = Url::parse("http://e.example/docs/howto/page.html").unwrap();
    let agent = meta::Agent::new("SuperRobot/1.0");
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let headers: Vec<(String, String)> = [
        ("content-type", "text/html; charset=utf-8"),
        ("x-robots-tag", "max-image-preview:large, otherbot: noindex"),
        ("cache-control", "max-age=60"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let limits = ExtractLimits::default();
    let without_metas = ExtractLimits { metas: 0, ..limits.clone() };
    let page = |body: &[u8], limits: &ExtractLimits| {
        let content_type = Some("text/html; charset=utf-8");
        extract(&ExtractInput {
            body,
            content_type,
            url: &url,
            link_headers: &[],
            limits,
            want_text: false,
            want_styles: false,
        })
    };
    let judge = |page: &Extracted| {
        let sources = meta::Sources { headers: &headers, metas: &page.metas };
        let directives = meta::resolve(&sources, &agent, meta::Dialect::Strict, now);
        black_box(meta::consent::page_statements(&headers, &directives, None, now));
        black_box(directives);
    };
    for (name, pages) in
        [("published", vec![published()]), ("generated", vec![generated()]), ("real", real())]
    {
        if pages.is_empty() {
            eprintln!("SKIPPED: no real pages, REALWEB_ROOT isn't set");
            continue;
        }
        let without = || pages.iter().for_each(|p| drop(black_box(page(p, &without_metas))));
        let with = || pages.iter().for_each(|p| judge(&black_box(page(p, &limits))));
        let rels: Vec<String> = pages
            .iter()
            .flat_map(|p| page(p, &limits).links)
            .map(|link| link.rel.as_str().to_owned())
            .filter(|rel| !rel.is_empty())
            .collect();
        let rel = || rels.iter().for_each(|rel| _ = black_box(meta::link_rel(rel)));
        tell_share(name, &without, &with, &rel);
        let mut group = c.benchmark_group(format!("directives {name}"));
        group.throughput(Throughput::Bytes(pages.iter().map(|p| p.len() as u64).sum()));
        group.sample_size(if name == "real" { 10 } else { 100 });
        group.bench_function("extract without", |b| b.iter(without));
        group.bench_function("extract with", |b| b.iter(with));
        group.finish();
    }
}

/// Measures in turns, in slices shorter than a time slice of the system, and compares the tenth fastest in a hundred of
/// each: what else runs on the machine disturbs the slow ones.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn tell_share(name: &str, without: &dyn Fn(), with: &dyn Fn(), rel: &dyn Fn()) {
    let time = |of: &dyn Fn()| {
        let start = std::time::Instant::now();
        of();
        start.elapsed().as_secs_f64()
    };
    let calls = (0.0005 / time(without)).ceil().clamp(1.0, 100.0) as usize;
    let rounds = if time(without) > 0.02 { 41 } else { 1_001 };
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (times, of) in times.iter_mut().zip([without, with, rel]) {
            times.push(time(&|| (0..calls).for_each(|_| of())));
        }
    }
    let [without, with, rel] = times.map(|mut times| {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() / 10] / calls as f64 * 1e6
    });
    eprintln!(
        "directives {name}: {:.2} % of the extract pass: {with:.1} us with, {without:.1} us without, rel {rel:.2} us",
        (with - without + rel) / with * 100.0
    );
}

/// Bodies of 10 MiB, the most that is read by default, that cost a reader most: deep, wide, full of attributes, entities, metas, cut tags.
fn hostile(c: &mut Criterion) {
    let url = Url::parse("http://e.example/docs/howto/page.html").unwrap();
    let limits = ExtractLimits::default();
    let size = 10 << 20;
    let fill = |head: &str, part: &str| {
        let mut html = String::with_capacity(size);
        html.push_str(head);
        while html.len() + part.len() <= size {
            html.push_str(part);
        }
        html.into_bytes()
    };
    let shapes = [
        ("unclosed formatting", fill("", "<b n><i n><p x>")),
        ("lists in lists", fill("", "<ul><li>")),
        ("one element in another", fill("", "<div>")),
        ("short links", fill("", "<a href=a>b</a>")),
        ("links from a long base", fill(&format!("<base href='/{}/'>", "b".repeat(8_000)), "<a href=1>")),
        ("metas", fill("", "<meta name=robots content=noindex>")),
        ("attributes of one tag", fill("<a ", "a b='c' ")),
        ("attributes without end", fill("<p ", "a=\"")),
        ("entities", fill("<p>", "&amp;&notit;&#x1f600;&")),
        ("cut tags", fill("", "</")),
        ("comments", fill("", "<!--><!-- --!>")),
        ("JSON-LD", fill("", "<script type=application/ld+json>{}</script>")),
        ("unclosed scripts", fill("", "<script><!--<script>")),
        ("words", fill("<title>", "a ")),
        ("templates and tables", fill("", "<table><template><tr><td>")),
        ("another encoding", fill("<meta charset=gb18030>", "\u{81}\u{30}")),
    ];
    let mut group = c.benchmark_group("extract hostile 10 MiB");
    group.throughput(Throughput::Bytes(size as u64)).sample_size(10);
    for (name, body) in &shapes {
        group.bench_function(*name, |b| b.iter(|| ours(body, &url, &limits, true)));
    }
    group.finish();
}

criterion_group!(benches, compare, directives, hostile);
criterion_main!(benches);
