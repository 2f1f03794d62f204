"""What a page of each kind takes: in the database of a cluster, in its write-ahead log, and in the archive. See `run`.

Each kind has a database of its own, and a web of its own on 127.0.0.1, with the same words and links each time. Bytes are those of one worker
when the crawl is complete. They depend little on the machine, so any build of the program gives them; the log depends on how many pages are committed
together, which a slow machine has more of.
"""

import argparse
import glob
import http.server
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import zlib

from postgres import Postgres

parser = argparse.ArgumentParser(description="bytes of pages of several kinds in a cluster's database")
parser.add_argument("--hosts", type=int, default=100)
parser.add_argument("--pages", type=int, default=20, help="pages of each host")
parser.add_argument("--partitions", type=int, default=64)
parser.add_argument("--kinds", nargs="+", metavar="KIND", help="only these")
parser.add_argument("--crawl", required=True, help="the program")
parser.add_argument("--json", help="file for the figures")
options = parser.parse_args()

# Words of a text; the first ones are the frequent ones, as in languages.
RANDOM = random.Random(1)
WORDS = ["".join(RANDOM.choices("etaoinshrdlucmfwyp", k=RANDOM.randint(2, 11))) for _ in range(20000)]
WEIGHTS = [1 / rank for rank in range(1, len(WORDS) + 1)]
for rank in range(1, len(WEIGHTS)):
    WEIGHTS[rank] += WEIGHTS[rank - 1]


def text(seed, length):
    """So many bytes of text, about."""
    words = random.Random(seed).choices(WORDS, cum_weights=WEIGHTS, k=length * 2 // 15)
    return " ".join(words)


def url(host, page):
    return f"http://h{host}.test/articles/{page}.html" if page else f"http://h{host}.test/"


def links(host, page, count):
    """The next page of the host and the first one of the next host, so that all are found; the others anywhere, four in five on the same host."""
    chosen = [url(host, (page + 1) % options.pages), url((host + 1) % options.hosts, 0)]
    numbers = random.Random(f"{host}/{page}")
    while len(chosen) < count:
        other = host if numbers.random() < 0.8 else numbers.randrange(options.hosts)
        chosen.append(url(other, numbers.randrange(options.pages)))
    return chosen


def html(host, page, size, count):
    """A page of so many bytes with so many links, each with a text of its own, between paragraphs."""
    head = f"<!doctype html><html lang=en><head><title>{text(f't{host}/{page}', 50)}</title>"
    head += f'<meta name=description content="{text(f"d{host}/{page}", 120)}"></head><body>'
    anchors = [f'<a href="{link}">{text(f"{host}/{page}/{at}", 25)}</a>' for at, link in enumerate(links(host, page, count))]
    rest = max(0, size - len(head) - sum(map(len, anchors)))
    between = text(f"{host}/{page}", rest)
    step = max(1, len(between) // len(anchors))
    parts = [f"<p>{between[at * step : (at + 1) * step]} {anchor}</p>" for at, anchor in enumerate(anchors)]
    return "text/html; charset=utf-8", (head + "".join(parts) + "</body></html>").encode()


def document(host, page):
    """Records of a catalogue."""
    numbers = random.Random(f"j{host}/{page}")
    records = [
        {"id": numbers.randrange(10**9), "title": text(f"{host}/{page}/{at}", 60), "year": numbers.randrange(1900, 2026), "tags": text(f"g{host}/{page}/{at}", 30).split()}
        for at in range(120)
    ]
    return "application/json", json.dumps({"page": page, "records": records}).encode()


def pdf(host, page):
    """A file of 20 pages of text, compressed as usual, with its table of objects."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for number in range(20):
        lines = text(f"p{host}/{page}/{number}", 3000)
        shown = "".join(f"({lines[at : at + 90]}) Tj T*\n" for at in range(0, len(lines), 90))
        stream = zlib.compress(f"BT /F1 10 Tf 12 TL 50 800 Td\n{shown}ET".encode())
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents {len(objects) + 2} 0 R >>"
        )
        objects.append(b"<< /Length %d /Filter /FlateDecode >> stream\n%s\nendstream" % (len(stream), stream))
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    file, places = b"%PDF-1.4\n", []
    for number, of in enumerate(objects, 1):
        places.append(len(file))
        file += b"%d 0 obj %s endobj\n" % (number, of if isinstance(of, bytes) else of.encode())
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(file)}\n%%EOF\n"
    return "application/pdf", file + end.encode()


# Bytes of a page, links on it; or what writes a document, which is a seed since it links to nothing.
KINDS = {
    "small": lambda host, page: html(host, page, 2_000, 5),
    "article": lambda host, page: html(host, page, 20_000, 60),
    "much text": lambda host, page: html(host, page, 100_000, 30),
    "many links": lambda host, page: html(host, page, 60_000, 500),
    "JSON": document,
    "PDF": pdf,
}
SEEDED = {"JSON", "PDF"}


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    made = {}
    sent = {}

    def do_GET(self):
        host = int(self.headers["Host"].partition(".")[0][1:])
        page = int(self.path.rpartition("/")[2].partition(".")[0] or 0) if self.path != "/robots.txt" else None
        kind, body = ("text/plain", b"User-agent: *\nAllow: /\n") if page is None else Site.made[(host, page)]
        if page is not None:
            Site.sent[(host, page)] = len(body)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def one(postgres, kind, port, work):
    name = "kind_" + kind.lower().replace(" ", "_")
    postgres.sql(f"create database {name}")
    address = postgres.url(name)
    out = os.path.join(work, name)
    os.mkdir(out)
    pages = [(host, page) for host in range(options.hosts) for page in range(options.pages)]
    # Before the crawl: so none of it waits for them.
    Site.made, Site.sent = {of: KINDS[kind](*of) for of in pages}, {}
    seeds = os.path.join(out, "seeds.txt")
    with open(seeds, "w") as file:
        file.writelines(url(host, page) + "\n" for host, page in pages if page == 0 or kind in SEEDED)
    common = ["--agent", "SuperRobot/1.0", "--contact", "bench@example.org", "--delay", "0s", "--adaptive", "0", "--scope", "any"]
    for host in range(options.hosts):
        common += ["--resolve", f"h{host}.test:127.0.0.1:{port}"]
    init = [options.crawl, "cluster", "init", address, "--seed", seeds, *common, "--partitions", str(options.partitions), "--single-server", "-q"]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
    log = postgres.sql("select pg_current_wal_lsn()")
    subprocess.run([options.crawl, "worker", "--cluster", address, "--out", os.path.join(out, "worker"), "-q"], check=True, stdout=subprocess.DEVNULL)
    found = len(Site.sent)
    if found != len(pages):
        raise SystemExit(f"{kind}: {found} of {len(pages)} pages were asked for")
    log = int(postgres.sql(f"select pg_wal_lsn_diff(pg_current_wal_lsn(), '{log}')::bigint"))
    size = "select sum(pg_total_relation_size(oid)) from pg_class where relname in"
    archive = sum(map(os.path.getsize, glob.glob(os.path.join(out, "worker/warc/*.warc.gz"))))
    return {
        "kind": kind,
        "pages": found,
        "body_bytes": sum(Site.sent.values()) / found,
        "record_bytes": int(postgres.sql(f"{size} ('kv_records')", name)) / found,
        "frontier_bytes": int(postgres.sql(f"{size} ('kv_state', 'kv_queue')", name)) / found,
        "log_bytes": log / found,
        "archive_bytes": archive / found,
    }


def main():
    print(f"{options.hosts} hosts of {options.pages} pages, {options.partitions} partitions, one worker; {time.strftime('%Y-%m-%d')}\n")
    print("| kind | bytes a page | records, links, ledger | frontier, hosts | write-ahead log | archive |")
    print("|---|---|---|---|---|---|")
    rows = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        directory = os.path.join(work, "postgres")
        os.mkdir(directory)
        with Postgres(directory) as postgres:
            for kind in options.kinds or KINDS:
                row = one(postgres, kind, server.server_address[1], work)
                rows.append(row)
                figures = ("body_bytes", "record_bytes", "frontier_bytes", "log_bytes", "archive_bytes")
                print("| " + " | ".join([kind, *(f"{row[figure]:,.0f}" for figure in figures)]) + " |", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


sys.exit(main())
