//! How fast a page is read, beside the tokenizers that could have done it.
//!
//! `cargo bench -p crawler --bench extract`. With `REALWEB_ROOT` set, real documentation pages below it are read, too.

#![expect(clippy::unwrap_used, clippy::format_push_string, reason = "a benchmark may stop where a test may")]

use std::cell::Cell;
use std::hint::black_box;
use std::path::Path;

use crawler::extract::{
    ExtractInput, ExtractLimits, HowMany, SelectLimits, SelectRule, Take, decode, extract, select,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use lol_html::{HtmlRewriter, Settings, element, text};
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
    extract(&ExtractInput { body, content_type, url, link_headers: &[], limits, want_text }).links.len()
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
                texts.iter().map(|t| select(t, &rule, &limits).unwrap()[0].values.len()).sum::<usize>()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, compare);
criterion_main!(benches);
