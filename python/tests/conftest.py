"""A small site on loopback, crawled by the program `crawl`; CRAWL_BINARY names it."""

import json
import os
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

BINARY = os.environ.get("CRAWL_BINARY") or str(Path(__file__).parents[2] / "target/debug/crawl")

TABLES = ["pages", "links", "hosts", "robots", "queue", "skipped", "ledger", "errors", "duplicates", "changes"]

WORDS = "Nails and hammers, saws and planes, chisels, files, rasps and clamps for every workshop in the town of {}."

ROBOTS = """User-agent: *
Content-Signal: search=yes, ai-train=no
Disallow: /private
"""

#: Path to status, headers and body.
PAGES = {
    "/robots.txt": (200, {"Content-Type": "text/plain"}, ROBOTS),
    "/": (
        200,
        {},
        '<html lang="en"><head><title>Tools &#x202e;&quot;äöü&quot; 工具</title><meta name="keywords" content="nails, hammers">'
        '<meta name="description" content="A shop"><script type="application/ld+json">{"@type": "Store"}</script></head>'
        '<body><p class="price">1.50</p><p class="price">2.50</p>'
        '<a href="/a">first; copy</a> <a href="/b">second</a> <a href="/private/x">no</a> <a href="/gone">gone</a>'
        ' <a href="/noindex">hidden</a> <a href="/moved">moved</a> <a href="/broken">broken</a> <a href="/late">late</a>'
        ' <a rel="nofollow" href="/nofollow">nofollow</a> <a href="mailto:a@b.test">mail</a> <a href="/zh">zh</a></body></html>',
    ),
    "/a": (200, {}, f"<title>A</title><p>{WORDS.format('Springfield')}</p>"),
    "/b": (200, {}, f"<title>A</title><p>{WORDS.format('Springfield')}</p>"),
    "/zh": (200, {}, '<html lang="zh"><title>螺丝</title><p>螺丝和锤子，锯子和刨子，适用于城里的每个作坊。</p>'),
    "/noindex": (200, {"X-Robots-Tag": "noindex"}, '<title>secret</title><a href="/a">inside</a>'),
    "/moved": (301, {"Location": "/a"}, ""),
    "/late": (200, {"X-Robots-Tag": "unavailable_after: 2099-01-01"}, "<title>Late</title><p>until 2099</p>"),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/broken":
            self.close_connection = True
            return
        status, headers, body = PAGES.get(self.path, (404, {}, "<title>gone</title>"))
        body = body.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def server():
    """The site's origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def run(*arguments, codes=(0,)):
    """Runs the program; gives what it printed."""
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode in codes, (arguments, done.returncode, done.stderr)
    return done.stdout


def lines(*arguments, codes=(0,)):
    """The JSON lines that the program printed."""
    return [json.loads(line) for line in run(*arguments, codes=codes).splitlines()]


def message(*arguments):
    """What the program printed behind `error:`."""
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode not in (0, 1), arguments
    line = [line for line in done.stderr.splitlines() if line.startswith("error: ")][0]
    return line.removeprefix("error: ")


def rows(directory, table, *options):
    """The rows as the program exports them, without `v`."""
    exported = lines("export", directory, "--table", table, "--format", "jsonl", *options)
    assert all(row.pop("v") == 1 for row in exported)
    return exported


def make(tmp, seed, *options, codes):
    """Crawls from a seed on; gives the directory."""
    seeds = tmp / "seeds.txt"
    seeds.write_text(f"{seed}\n")
    config = tmp / "config.toml"
    config.write_text(
        '[[extract]]\nname = "price"\nselector = "p.price"\nall = true\n'
        '[[extract]]\nname = "heading"\nselector = "title"\n'
    )
    out = tmp / "out"
    run(
        "--seed", seeds, "--agent", "SuperRobot/1.0", "--out", out, "--config", config, "--delay", "1ms",
        "--adaptive", "0", "--retries", "0", "--purpose", "search,ai-train", "-q", *options, codes=codes,
    )  # fmt: skip
    return out


@pytest.fixture(scope="session")
def directory(server, tmp_path_factory):
    """A crawl with rows in all tables but queue and changes."""
    return make(tmp_path_factory.mktemp("whole"), f"{server}/", codes=(0, 10, 13))


@pytest.fixture(scope="session")
def recrawled(directory, tmp_path_factory):
    """The same, visited again when one page had changed: with rows in changes."""
    out = tmp_path_factory.mktemp("recrawled") / "out"
    shutil.copytree(directory, out)
    status, headers, _ = PAGES["/late"]
    PAGES["/late"] = (status, headers, "<title>Later</title><p>until 2099, and longer</p>")
    run("recrawl", out, "--older-than", "0s", "-q", codes=(0, 10, 13))
    return out


@pytest.fixture(scope="session")
def cut(server, tmp_path_factory):
    """A crawl that ended early, with rows in queue."""
    return make(tmp_path_factory.mktemp("cut"), f"{server}/", "--max-pages", "2", codes=(10,))
