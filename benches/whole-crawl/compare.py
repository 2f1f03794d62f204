"""Runs the crawler, the floor and other crawlers on one generated web, in turn, and compares them. See `run`.

Each round runs every program once on a fresh server; the figures are medians over the rounds, with the least and the greatest. CPU is user and
system time of the program and what it starts, without the server's. The readers' part runs a crawl with a delay, alone and with readers, in turn.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from web import Web, get

parser = argparse.ArgumentParser(description="the whole crawler beside the least work that its parts need, and other crawlers")
parser.add_argument("--hosts", type=int, default=100)
parser.add_argument("--pages", type=int, default=200, help="pages of each host")
parser.add_argument("--small", action="store_true", help="pages of 1.5 KB with 8 links instead of 42 KB with 62")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--crawl", required=True, help="the program")
parser.add_argument("--before", help="another build of the program, to compare with")
parser.add_argument("--bin", required=True, help="directory of web, floor and spider")
parser.add_argument("--scrapy-pages", type=int, default=1000, help="pages after which Scrapy ends (it takes 8 ms a page)")
parser.add_argument("--only", action="append", metavar="NAME", help="name of a program as in the table; repeatable")
parser.add_argument("--readers", type=int, default=0, metavar="N", help="measure a crawl with a delay beside N readers instead")
parser.add_argument("--slow-sync", type=int, default=0, metavar="MS", help="run each program a second time in each round, with each fsync and fdatasync taking so much longer (needs cc)")
parser.add_argument("--json", help="file for the figures")
options = parser.parse_args()


SLOW = ", slow syncs"


def slow_sync(work):
    """The environment in which a sync takes longer."""
    library = os.path.join(work, "slow_sync.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow_sync.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return {**os.environ, "LD_PRELOAD": library, "SLOW_SYNC_MS": str(options.slow_sync)}


def measured(words, beside=None, environment=None):
    """Runs a program to its end; wall seconds, CPU seconds and the peak of its memory in MB."""
    start = time.monotonic()
    child = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = []
    reading = threading.Thread(target=lambda: said.append(child.stderr.read()), daemon=True)
    reading.start()
    if beside:
        beside(child)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - start
    code = os.waitstatus_to_exitcode(status)
    child.returncode = code
    reading.join(5)
    return {
        "code": code,
        "wall_s": wall,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1000,
        "said": (said[0] if said else b"").decode(errors="replace")[-500:],
    }


def programs(work):
    """Of each program that is installed: its name, its command line, and the exit codes of success. SEEDS stands for the file of seeds, DEDUP for a configuration
    that stores equal bodies once."""
    out = os.path.join(work, "out")
    common = ["--agent", "SuperRobot/1.0", "--contact", "bench@example.org", "--out", out, "--delay", "0s", "--adaptive", "0", "-q"]
    ours = [("crawl", options.crawl)] + ([("before", options.before)] if options.before else [])
    for name, program in ours:
        yield f"{name}, no WARC, no ledger", [program, "--seed", "SEEDS", *common, "--no-warc", "--no-index", "--ledger", "off"], (0, 10)
        yield f"{name}, no WARC", [program, "--seed", "SEEDS", *common, "--no-warc", "--no-index"], (0, 10)
        yield f"{name}, WARC", [program, "--seed", "SEEDS", *common, "--no-index"], (0, 10)
        yield f"{name}, WARC, bodies once", [program, "--seed", "SEEDS", *common, "--no-index", "--config", "DEDUP"], (0, 10)
        yield f"{name}, WARC and index", [program, "--seed", "SEEDS", *common], (0, 10)
    rows = os.path.join(work, "rows.jsonl")
    floor = os.path.join(options.bin, "floor")
    yield "floor", [floor, "SEEDS", rows], (0,)
    yield "floor + gzip", [floor, "SEEDS", rows, os.path.join(work, "bodies.gz")], (0,)
    spider = os.path.join(options.bin, "spider")
    if os.path.exists(spider):
        yield "spider", [spider, "SEEDS", rows], (0,)
    if subprocess.run([sys.executable, "-c", "import scrapy"], stderr=subprocess.DEVNULL).returncode == 0:
        peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scrapy_peer.py")
        yield "Scrapy", [sys.executable, peer, "SEEDS", rows, str(options.scrapy_pages)], (0,)


def one(name, words, codes, work, beside=None, environment=None):
    for name_there in os.listdir(work):
        path = os.path.join(work, name_there)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    with Web(options.bin, options.hosts, options.pages, small=options.small) as web:
        seeds = os.path.join(work, "seeds.txt")
        with open(seeds, "w") as file:
            file.write(web.seeds)
        dedup = os.path.join(work, "dedup.toml")
        with open(dedup, "w") as file:
            file.write('[warc]\ndedup = "crawl"\n')
        files = {"SEEDS": seeds, "DEDUP": dedup}
        figures = measured([files.get(word, word) for word in words], beside, environment)
        figures["server"] = web.stats()
    if figures["code"] not in codes:
        raise SystemExit(f"{name} ended with exit code {figures['code']}: {figures['said']}")
    pages = max(1, figures["server"]["unique_pages"])
    figures["pages"] = pages
    figures["cpu_ms_per_page"] = 1000 * figures["cpu_s"] / pages
    figures["pages_per_s"] = pages / figures["wall_s"]
    return figures


def middle(rows, key):
    values = sorted(row[key] for row in rows)
    return statistics.median(values), values[0], values[-1]


def table(rounds):
    """Medians as a table in Markdown, with ratios to the floor of the same kind."""
    base = {key: middle(rounds[name], "cpu_ms_per_page")[0] for key, name in (("", "floor"), ("gz", "floor + gzip")) if name in rounds}
    print("| program | CPU ms a page (least, greatest) | to the floor | to floor + gzip | pages/s | peak MB | pages found |")
    print("|---|---|---|---|---|---|---|")
    for name, rows in rounds.items():
        cpu, least, most = middle(rows, "cpu_ms_per_page")
        speed, memory = middle(rows, "pages_per_s")[0], middle(rows, "peak_mb")[0]
        ratios = [f"{cpu / base[key]:.2f}" if key in base else "" for key in ("", "gz")]
        found = min(row["pages"] for row in rows)
        print(f"| {name} | {cpu:.3f} ({least:.3f}, {most:.3f}) | {ratios[0]} | {ratios[1]} | {speed:,.0f} | {memory:,.0f} | {found:,} |")


def compare(work, slow):
    """The programs in turn; with `slow`, an environment, each a second time in it."""
    installed = list(programs(work))
    names = [name for name, *_ in installed]
    for name in options.only or []:
        if name not in names:
            raise SystemExit(f"--only {name!r}: not one of {', '.join(map(repr, names))}")
    chosen = [(*row, None) for row in installed if not options.only or row[0] in options.only]
    if slow:
        chosen = [(name + more, words, codes, env) for name, words, codes, _ in chosen for more, env in (("", None), (SLOW, slow))]
    rounds = {name: [] for name, *_ in chosen}
    for number in range(options.rounds):
        # In another order each time, so that nothing always comes after the same one.
        turn = number % max(1, len(chosen))
        for name, words, codes, env in chosen[turn:] + chosen[:turn]:
            print(f"round {number + 1}: {name}", file=sys.stderr, flush=True)
            rounds[name].append(one(name, words, codes, work, environment=env))
    total = options.hosts * options.pages
    print(f"{options.hosts} hosts, {total:,} pages, {options.rounds} rounds, medians; {os.cpu_count()} processors, {platform.system()}, {time.strftime('%Y-%m-%d')}\n")
    table(rounds)
    for name in names:
        if name + SLOW in rounds:
            shares = sorted(late["pages_per_s"] / soon["pages_per_s"] - 1 for soon, late in zip(rounds[name], rounds[name + SLOW]))
            print(f"\n{name}: {statistics.median(shares):+.1%} pages/s with syncs that take {options.slow_sync} ms longer ({shares[0]:+.1%} to {shares[-1]:+.1%} in a round)")
    return rounds


def readers(work):
    """A crawl with a delay, alone and beside readers that never rest, in turn."""
    out = os.path.join(work, "out")
    words = [options.crawl, "--seed", "SEEDS", "--agent", "SuperRobot/1.0", "--contact", "bench@example.org", "--out", out]
    words += ["--delay", "500ms", "--adaptive", "0", "--no-index", "--no-warc", "--max-time", "30s", "-q"]
    reads = {"count": 0}

    def read(child, number):
        table_name = ["pages", "links", "ledger", "queue"][number % 4]
        command = [options.crawl, "export", out, "--table", table_name, "--format", "jsonl", "-q"]
        socket = os.path.join(out, ".crawl.sock")
        while child.returncode is None and not os.path.exists(socket):
            time.sleep(0.05)
        while child.returncode is None and os.path.exists(socket):
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            reads["count"] += done.returncode == 0

    def beside(child):
        for number in range(options.readers):
            threading.Thread(target=read, args=(child, number), daemon=True).start()

    rounds = {"alone": [], f"with {options.readers} readers": []}
    for number in range(options.rounds):
        for name in rounds:
            print(f"round {number + 1}: {name}", file=sys.stderr, flush=True)
            rounds[name].append(one(name, words, (10, 11), work, None if name == "alone" else beside))
            time.sleep(1)
    print(f"{options.hosts} hosts, delay 500 ms, 30 s, {options.rounds} rounds, medians; {reads['count']} exports; {os.cpu_count()} processors\n")
    print("| | requests | CPU ms a page | least gap on the server, ms |")
    print("|---|---|---|---|")
    for name, rows in rounds.items():
        requests = statistics.median(row["server"]["requests"] for row in rows)
        gap = min(row["server"]["least_gap_ms"] for row in rows)
        print(f"| {name} | {requests:,.0f} | {middle(rows, 'cpu_ms_per_page')[0]:.3f} | {gap:.1f} |")
    return rounds


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
with tempfile.TemporaryDirectory(prefix="whole-crawl.") as work, tempfile.TemporaryDirectory(prefix="slow-sync.") as beside_it:
    slow = slow_sync(beside_it) if options.slow_sync else None
    found = readers(work) if options.readers else compare(work, slow)
if options.json:
    with open(options.json, "w") as file:
        json.dump({"hosts": options.hosts, "pages": options.pages, "rounds": found}, file, indent=1)
