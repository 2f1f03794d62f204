//! Many hosts that send as much as they can, all at the same time.

use std::sync::LazyLock;
use std::time::Duration;

use whole_program::hostile::Expect::{Answers, Cut};
use whole_program::hostile::http::{coded, gzip_bomb, open_head, page, typed, zstd_bomb};
use whole_program::hostile::{Scenario, Serve};

use crate::crawl::{Plan, run};

const SIZE: usize = 10 << 20;

static TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| page(b"<p>lorem ipsum <a href=/>x</a>".repeat(SIZE / 30)));
static FILM: LazyLock<Vec<u8>> = LazyLock::new(|| {
    // Nothing that could be compressed, in the archive either.
    let noise =
        (0..SIZE as u64 / 8).flat_map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ n << 21).to_le_bytes());
    typed("video/mp4", noise.collect::<Vec<u8>>())
});
static GZIP: LazyLock<Vec<u8>> = LazyLock::new(|| coded("gzip", gzip_bomb(20)));
static ZSTD: LazyLock<Vec<u8>> = LazyLock::new(|| coded("zstd", zstd_bomb(200)));

const WHOLE: &[whole_program::hostile::Expect] = &[Answers("/", 200)];
const DECODED: &[whole_program::hostile::Expect] = &[Answers("/", 200), Cut("/", "decoded")];
const WIRE: &[whole_program::hostile::Expect] = &[Answers("/", 200), Cut("/", "wire")];

macro_rules! five_of {
    ($serve:expr, $expect:expr, $($name:literal),*) => { [$(Scenario::pages($name, "body", $serve, $expect)),*] };
}

const TEXTS: [Scenario; 15] = five_of!(
    Serve::Answer(|_| TEXT.clone()),
    WHOLE,
    "text-1",
    "text-2",
    "text-3",
    "text-4",
    "text-5",
    "text-6",
    "text-7",
    "text-8",
    "text-9",
    "text-10",
    "text-11",
    "text-12",
    "text-13",
    "text-14",
    "text-15"
);
const FILMS: [Scenario; 15] = five_of!(
    Serve::Answer(|_| FILM.clone()),
    WHOLE,
    "film-1",
    "film-2",
    "film-3",
    "film-4",
    "film-5",
    "film-6",
    "film-7",
    "film-8",
    "film-9",
    "film-10",
    "film-11",
    "film-12",
    "film-13",
    "film-14",
    "film-15"
);
const BOMBS: [Scenario; 20] = five_of!(
    Serve::Answer(|ask| if ask.host.len().is_multiple_of(2) { GZIP.clone() } else { ZSTD.clone() }),
    DECODED,
    "bomb-1",
    "bomb-2",
    "bomb-3",
    "bomb-4",
    "bomb-5",
    "bomb-6",
    "bomb-7",
    "bomb-8",
    "bomb-9",
    "bomb-10",
    "bomb-11",
    "bomb-12",
    "bomb-13",
    "bomb-14",
    "bomb-15",
    "bomb-16",
    "bomb-17",
    "bomb-18",
    "bomb-19",
    "bomb-20"
);
const STREAMS: [Scenario; 10] = five_of!(
    Serve::Wire(|w| {
        w.request()?;
        w.send(open_head(&[]))?;
        w.flood([b' '; 65536])
    }),
    WIRE,
    "stream-1",
    "stream-2",
    "stream-3",
    "stream-4",
    "stream-5",
    "stream-6",
    "stream-7",
    "stream-8",
    "stream-9",
    "stream-10"
);

/// Sixty hosts: 10 MiB of text, 10 MiB of noise, bombs, streams without an end.
#[test]
fn sixty_hosts_send_all_they_can_at_once() {
    for body in [&TEXT, &FILM, &GZIP, &ZSTD] {
        LazyLock::force(body);
    }
    let scenarios = [&TEXTS[..], &FILMS, &BOMBS, &STREAMS].concat();
    // The time of a try is the default: here it is the memory that is judged.
    let options = &["--adaptive", "1"];
    // Large bodies take turns, so on a busy machine this takes several times the 25 s of a quiet one: the limit is against hanging.
    let limit = Duration::from_mins(4);
    run(&Plan { options, canary: 100, exit: 10, limit, ..Plan::new("memory", scenarios.leak()) });
}
