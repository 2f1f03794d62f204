//! Content codings: bombs, lies, cut streams.

use std::sync::LazyLock;

use whole_program::hostile::Expect::{Answers, Cut, Fails, NoPages, Robots, Title};
use whole_program::hostile::http::{
    bare_deflate, brotli_bomb, coded, gzip, gzip_bomb, page, text, zlib, zlib_bomb, zstd, zstd_bomb,
};
use whole_program::hostile::{Scenario, Serve};

use crate::crawl::{Plan, run};

/// Made once, before the clock runs: packing takes longer than a try may.
static GZIP_BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| gzip_bomb(100));
static ZLIB_BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| zlib_bomb(100));
static ZSTD_BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| zstd_bomb(500));
static NESTED_BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| gzip(&*GZIP_BOMB));
static MEMBERS: LazyLock<Vec<u8>> = LazyLock::new(|| gzip("").repeat(50_000));

const GOOD: &str = "<!doctype html><title>good</title>";

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::pages(
        "gzip-bomb",
        "body",
        Serve::Answer(|_| coded("gzip", &*GZIP_BOMB)),
        &[Answers("/", 200), Cut("/", "decoded")],
    ),
    Scenario::pages(
        "deflate-bomb",
        "body",
        Serve::Answer(|_| coded("deflate", &*ZLIB_BOMB)),
        &[Answers("/", 200), Cut("/", "decoded")],
    ),
    Scenario::pages(
        "zstd-bomb",
        "body",
        Serve::Answer(|_| coded("zstd", &*ZSTD_BOMB)),
        &[Answers("/", 200), Cut("/", "decoded")],
    ),
    Scenario::pages(
        "brotli-bomb",
        "body",
        Serve::Answer(|_| coded("br", brotli_bomb(64))),
        &[Answers("/", 200), Cut("/", "decoded")],
    ),
    Scenario::pages(
        "gzip-in-gzip-bomb",
        "body",
        Serve::Answer(|_| coded("gzip, gzip", &*NESTED_BOMB)),
        &[Answers("/", 200), Cut("/", "decoded")],
    ),
    Scenario::pages(
        "ten-codings",
        "body",
        Serve::Answer(|_| {
            coded(&["gzip"; 10].join(", "), (0..10).fold(GOOD.into(), |body: Vec<u8>, _| gzip(body)))
        }),
        &[Fails("/", &["decode"])],
    ),
    Scenario::pages(
        "three-codings",
        "body",
        Serve::Answer(|_| coded("gzip, zstd, deflate", zlib(zstd(gzip(GOOD))))),
        &[Answers("/", 200), Title("/", "good")],
    ),
    Scenario::pages(
        "codings-on-two-lines",
        "body",
        Serve::Answer(|_| {
            let fields = ["Content-Type: text/html", "Content-Encoding: gzip", "Content-Encoding: zstd"];
            whole_program::hostile::http::answer(200, &fields, zstd(gzip(GOOD)))
        }),
        &[Answers("/", 200), Title("/", "good")],
    ),
    Scenario::pages(
        "zstd-window-of-2-gib",
        "body",
        // Magic number, a frame header that asks for a window of 2 GiB (RFC 8878 section 3.1.1.1.2), a raw block.
        Serve::Answer(|_| {
            coded("zstd", [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x29, 0, 0][..], b"hello"].concat())
        }),
        &[Fails("/", &["decode"])],
    ),
    Scenario::pages(
        "members-of-gzip",
        "body",
        Serve::Answer(|_| coded("gzip", [gzip("<title>go"), gzip("od</title>")].concat())),
        &[Answers("/", 200), Title("/", "good")],
    ),
    Scenario::pages(
        "fifty-thousand-gzip-members",
        "body",
        Serve::Answer(|_| coded("gzip", &*MEMBERS)),
        &[Fails("/", &["decode"])],
    ),
    Scenario::pages(
        "plain-as-gzip",
        "body",
        Serve::Answer(|_| coded("gzip", GOOD)),
        &[Fails("/", &["decode"])],
    ),
    Scenario::pages(
        "plain-as-deflate",
        "body",
        Serve::Answer(|_| coded("deflate", "\u{7}\u{7}plain")),
        &[Fails("/", &["decode"])],
    ),
    Scenario::pages(
        "plain-as-brotli",
        "body",
        Serve::Answer(|_| coded("br", GOOD)),
        &[Fails("/", &["decode"])],
    ),
    Scenario::pages(
        "plain-as-zstd",
        "body",
        Serve::Answer(|_| coded("zstd", GOOD)),
        &[Fails("/", &["decode"])],
    ),
    Scenario::pages(
        "gzip-as-brotli",
        "body",
        Serve::Answer(|_| coded("br", gzip(GOOD))),
        &[Fails("/", &["decode"])],
    ),
    Scenario::pages(
        "bare-deflate",
        "body",
        Serve::Answer(|_| coded("deflate", bare_deflate(GOOD))),
        &[Title("/", "good")],
    ),
    Scenario::pages("x-gzip", "body", Serve::Answer(|_| coded("X-GZip", gzip(GOOD))), &[Title("/", "good")]),
    Scenario::pages("unknown-coding", "body", Serve::Answer(|_| coded("utf-8", GOOD)), &[Title("/", "good")]),
    Scenario::pages(
        "gzip-not-declared",
        "text",
        Serve::Answer(|_| page(gzip("<a href=/no>no</a>"))),
        &[Fails("/", &["mime"])],
    ),
    Scenario::pages(
        "gzip-cut",
        "framing",
        Serve::Answer(|_| {
            let noise: String = (0..20_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_string()).collect();
            let whole = gzip(noise);
            coded("gzip", &whole[..whole.len() / 2])
        }),
        &[Fails("/", &["decode"])],
    ),
    Scenario::pages(
        "gzip-with-a-wrong-checksum",
        "framing",
        Serve::Answer(|_| {
            let mut bytes = gzip(GOOD);
            let at = bytes.len() - 6;
            bytes[at] ^= 0xff;
            coded("gzip", bytes)
        }),
        &[Fails("/", &["decode"])],
    ),
    Scenario::pages("gzip-of-nothing", "framing", Serve::Answer(|_| coded("gzip", "")), &[Answers("/", 200)]),
    Scenario::pages(
        "gzip-with-padding",
        "framing",
        Serve::Answer(|_| coded("gzip", [gzip(GOOD), vec![0; 100_000]].concat())),
        &[Answers("/", 200), Title("/", "good")],
    ),
    Scenario::everything(
        "robots-bomb",
        "robots",
        Serve::Answer(|_| coded("gzip", &*GZIP_BOMB)),
        &[NoPages, Fails("/", &["robots"]), Robots("defer")],
    ),
    Scenario::everything(
        "robots-zstd-bomb",
        "robots",
        Serve::Answer(|_| coded("zstd", &*ZSTD_BOMB)),
        &[NoPages, Fails("/", &["robots"]), Robots("defer")],
    ),
    Scenario::everything(
        "robots-broken-gzip",
        "robots",
        Serve::Answer(|_| coded("gzip", "User-agent: *\nAllow: /")),
        &[NoPages, Fails("/", &["robots"]), Robots("defer")],
    ),
    Scenario::everything(
        "robots-in-gzip",
        "robots",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/robots.txt" => coded("gzip", gzip("User-agent: *\nDisallow: /\n")),
            _ => text("never"),
        }),
        &[NoPages, Robots("rules")],
    ),
];

#[test]
fn hostile_codings() {
    for bomb in [&GZIP_BOMB, &ZLIB_BOMB, &ZSTD_BOMB, &NESTED_BOMB, &MEMBERS] {
        LazyLock::force(bomb);
    }
    // Hosts whose robots.txt can't be decoded wait for another try of it.
    run(&Plan { exit: 13, ..Plan::new("codings", SCENARIOS) });
}
