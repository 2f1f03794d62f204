"""What a page of a large crawl costs beside a page of a small one. See `run`.

The speed of a machine changes within the minutes that a large crawl takes. So each round runs half of the small crawls, the large one, and the other
half, and counts all small crawls of the round together. CPU is user and system time of the program, without the server's.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time

from web import Web

parser = argparse.ArgumentParser(description="processor time of a page of a large crawl, beside that of a small crawl")
parser.add_argument("--hosts", type=int, default=100)
parser.add_argument("--pages", type=int, default=10_000, help="pages of each host of the large crawl, 1.5 KB each with 8 links")
parser.add_argument("--small-pages", type=int, default=100, help="pages of each host of a small crawl")
parser.add_argument("--small-crawls", type=int, default=40, help="small crawls of a round")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--crawl", required=True, help="the program")
parser.add_argument("--bin", required=True, help="directory of web")
parser.add_argument("--json", help="file for the figures")
options = parser.parse_args()


def cost(pages):
    """Milliseconds of processor time a page, and the peak of memory in MB, of a crawl of so many pages of each host."""
    with Web(options.bin, options.hosts, pages, small=True) as web, tempfile.TemporaryDirectory(prefix="whole-crawl.") as work:
        seeds = os.path.join(work, "seeds.txt")
        with open(seeds, "w") as file:
            file.write(web.seeds)
        words = [options.crawl, "--seed", seeds, "--agent", "SuperRobot/1.0", "--contact", "bench@example.org", "--out", os.path.join(work, "out")]
        words += ["--delay", "0s", "--adaptive", "0", "--no-warc", "--no-index", "-q"]
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        found = web.stats()["unique_pages"]
    if child.returncode not in (0, 10) or found != options.hosts * pages:
        raise SystemExit(f"the crawl ended with exit code {child.returncode} and found {found:,} of {options.hosts * pages:,} pages")
    return 1000 * (usage.ru_utime + usage.ru_stime) / found, usage.ru_maxrss / 1000


rounds = []
print(f"{options.hosts} hosts, {options.hosts * options.pages:,} and {options.hosts * options.small_pages:,} pages; {os.cpu_count()} processors, {platform.system()}, {time.strftime('%Y-%m-%d')}\n")
print("| CPU ms a page of the small crawls (least, greatest) | of the large crawl | ratio | its peak MB |")
print("|---|---|---|---|")
for _ in range(options.rounds):
    half = options.small_crawls // 2
    small = [cost(options.small_pages)[0] for _ in range(half)]
    large, memory = cost(options.pages)
    small += [cost(options.small_pages)[0] for _ in range(options.small_crawls - half)]
    mean = statistics.mean(small)
    rounds.append({"small_ms": small, "large_ms": large, "ratio": large / mean, "peak_mb": memory})
    print(f"| {mean:.4f} ({min(small):.4f}, {max(small):.4f}) | {large:.4f} | {large / mean:.2f} | {memory:,.0f} |", flush=True)
print(f"\nratio, median: {statistics.median(row['ratio'] for row in rounds):.2f}")
if options.json:
    with open(options.json, "w") as file:
        json.dump({"hosts": options.hosts, "rounds": rounds}, file, indent=1)
