"""Crawls many hosts with a delay, and compares the requests that came with those that the delay allows. See `run`.

Counting begins when every host has been asked for some time, and ends before any host runs out of pages. Ideal is one request to each host
every delay + response time, as the web measured the latter. The shortest gap is the web's too: from the end of a response, noted before it is
sent, to the next request to that host.
"""

import argparse
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import time

from web import Web

parser = argparse.ArgumentParser(description="how much of what the delay allows is used, with many hosts")
parser.add_argument("--hosts", type=int, default=2000)
parser.add_argument("--delay", type=float, default=1.0, help="seconds")
parser.add_argument("--latency", type=int, nargs="+", default=[0, 50], metavar="MS", help="milliseconds before each response")
parser.add_argument("--after", type=float, default=60.0, help="seconds from the start of the crawl to that of the count")
parser.add_argument("--seconds", type=float, default=30.0, help="how long to count")
parser.add_argument("--rounds", type=int, default=1)
parser.add_argument("--index", action="store_true", help="with archive and full-text index, as a crawl by default")
parser.add_argument("--crawl", required=True, help="the program")
parser.add_argument("--before", help="another build of the program, to compare with")
parser.add_argument("--bin", required=True, help="directory of web")
parser.add_argument("--json", help="file for the figures")
options = parser.parse_args()


def status(pid, field):
    """A figure of /proc/PID/status, in MB where it is a size."""
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) / (1024 if line.rstrip().endswith("kB") else 1)
    return 0


def one(program, latency, work):
    out = os.path.join(work, "out")
    pages = int((options.after + options.seconds) / options.delay) + 60
    with Web(options.bin, options.hosts, pages, latency) as web:
        seeds = os.path.join(work, "seeds.txt")
        with open(seeds, "w") as file:
            file.write(web.seeds)
        words = [program, "--seed", seeds, "--agent", "SuperRobot/1.0", "--contact", "bench@example.org", "--out", out]
        words += ["--delay", f"{round(options.delay * 1000)}ms", "--adaptive", "0", "-q"]
        words += [] if options.index else ["--no-index", "--no-warc"]
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        try:
            time.sleep(options.after)
            first, start = web.stats(), time.monotonic()
            descriptors = 0
            while time.monotonic() < start + options.seconds:
                time.sleep(min(1.0, max(0.0, start + options.seconds - time.monotonic())))
                if child.poll() is not None:
                    raise SystemExit(f"the crawl ended after {options.after:.0f} s or more, with exit code {child.returncode}")
                descriptors = max(descriptors, len(os.listdir(f"/proc/{child.pid}/fd")))
            last, counted = web.stats(), time.monotonic() - start
            memory, threads = status(child.pid, "VmHWM"), status(child.pid, "Threads")
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
    subprocess.run(["rm", "-rf", out], check=True)
    requests = last["requests"] - first["requests"]
    response = (last["responding_s"] - first["responding_s"]) / max(1, requests)
    ideal = options.hosts * counted / (options.delay + response)
    return {
        "latency_ms": latency,
        "requests_per_s": requests / counted,
        "of_ideal": requests / ideal,
        "least_gap_ms": last["least_gap_ms"],
        "response_ms": 1000 * response,
        "peak_mb": memory,
        "descriptors": descriptors,
        "threads": threads,
    }


def main():
    # The web has one connection for each host too.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print(
        f"{options.hosts:,} hosts, delay {options.delay * 1000:.0f} ms, counted for {options.seconds:.0f} s, {options.after:.0f} s after the start; "
        f"{os.cpu_count()} processors, {platform.system()}, {time.strftime('%Y-%m-%d')}\n"
    )
    print("| program | latency, ms | requests/s | of the ideal | shortest gap, ms | response on the server, ms | peak MB | open descriptors | threads |")
    print("|---|---|---|---|---|---|---|---|---|")
    rows = []
    programs = {"crawl": options.crawl, **({"before": options.before} if options.before else {})}
    with tempfile.TemporaryDirectory(prefix="pace.") as work:
        for _ in range(options.rounds):
            for latency in options.latency:
                for name, program in programs.items():
                    row = {"program": name, **one(program, latency, work)}
                    rows.append(row)
                    print(
                        f"| {name} | {latency} | {row['requests_per_s']:,.1f} | {100 * row['of_ideal']:.2f}% | {row['least_gap_ms']:.2f} "
                        f"| {row['response_ms']:.2f} | {row['peak_mb']:.0f} | {row['descriptors']:,} | {row['threads']:.0f} |",
                        flush=True,
                    )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
main()
