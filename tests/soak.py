"""The soak run itself; see tests/soak."""

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

parser = argparse.ArgumentParser()
parser.add_argument("--crawl", required=True)
parser.add_argument("--webgen", required=True)
parser.add_argument("--minutes", type=float, required=True)
parser.add_argument("--hosts", type=int, required=True)
parser.add_argument("--work", required=True)
parser.add_argument("--delay-ms", type=int, default=250)
options = parser.parse_args()

RANDOM = random.Random(1)
WEB, FRONT = 8571, 8572
# So many that the crawl is busy about all the time: pauses after faults take the rest of it. The last part is calm.
PAGES = max(20, int(options.minutes * 60 * 0.4 / (options.delay_ms / 1000 + 0.02)))
CALM_FROM = 0.7
FAULTS = {"503": 0, "cut": 0, "silent": 0, "slow": 0, "answered": 0}
PHASE = {"kind": "calm"}
# Hosts whose last request met a fault. A 503 only ever comes after an answer: three faults in a row with a 503 at their end slow a host for the
# rest of the crawl (tested elsewhere), and then no bounded run would get through.
FAULTED = set()
# When each host was last asked or answered, whichever is later, and the gaps that were shorter than the delay.
LAST, HASTY = {}, []


async def read_head(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    return head


async def is_gone(reader):
    """Whether the client was killed: nobody waits for the answer, and the next process can't know of the request."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return reader.at_eof() or reader.exception() is not None


async def relay(reader, writer):
    """One client connection: each request is passed on, or meets the fault of the phase."""
    try:
        while True:
            head = await read_head(reader)
            if await is_gone(reader):
                return
            kind = PHASE["kind"]
            robots = head.split(b" ", 2)[1].endswith(b"/robots.txt")
            host = re.search(rb"(?im)^host: *([^\r]+)", head).group(1)
            address = host.split(b":")[0].decode()
            now = time.monotonic()
            if now - LAST.get(address, 0) < options.delay_ms / 1000 * 0.98:
                HASTY.append((address, now - LAST[address]))
            LAST[address] = now
            hit = kind != "calm" and not robots and RANDOM.random() < 0.5
            if hit and kind == "503" and address not in FAULTED:
                FAULTS["503"] += 1
                FAULTED.add(address)
                # One in twenty doesn't say for how long: a minute and more.
                after = b"" if RANDOM.random() < 0.05 else b"Retry-After: 1\r\n"
                writer.write(b"HTTP/1.1 503 Busy\r\n" + after + b"Content-Length: 0\r\n\r\n")
                await writer.drain()
                continue
            if hit and kind == "silent":
                FAULTS["silent"] += 1
                FAULTED.add(address)
                await asyncio.sleep(8)
                return
            if hit and kind == "slow":
                FAULTS["slow"] += 1
                await asyncio.sleep(RANDOM.uniform(0.2, 1.5))
            back_reader, back = await asyncio.open_connection(address, WEB)
            head = re.sub(rb"(?im)^host: *[^\r]+", b"Host: " + address.encode() + b":%d" % WEB, head)
            head = re.sub(rb"(?im)^connection: *[^\r]+\r\n", b"", head)
            back.write(head[:-2] + b"Connection: close\r\n\r\n")
            await back.drain()
            answer = await back_reader.read()
            back.close()
            answer = answer.replace(b":%d/" % WEB, b":%d/" % FRONT)
            top, _, body = answer.partition(b"\r\n\r\n")
            top = re.sub(rb"(?im)^(content-length|transfer-encoding|connection): *[^\r]+\r\n?", b"", top + b"\r\n").rstrip(b"\r\n")
            answer = top + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            if hit and kind == "cut":
                FAULTS["cut"] += 1
                FAULTED.add(address)
                writer.write(answer[: len(answer) // 2])
                await writer.drain()
                writer.transport.abort()
                LAST[address] = time.monotonic()
                return
            FAULTS["answered"] += 1
            FAULTED.discard(address)
            if not await is_gone(reader):
                LAST[address] = time.monotonic()
            writer.write(answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, OSError):
        pass
    finally:
        writer.close()


def rss(pid):
    try:
        with open(f"/proc/{pid}/status") as status:
            found = re.search(r"VmRSS:\s+(\d+) kB", status.read())
        return int(found.group(1)) / 1024 if found else None
    except OSError:
        return None


async def soak():
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    out = os.path.join(options.work, "out")
    server = await asyncio.start_server(relay, "0.0.0.0", FRONT)
    seeds = urllib.request.urlopen(f"http://127.0.0.1:{WEB}/__seeds").read().decode().replace(f":{WEB}/", f":{FRONT}/")
    with open(os.path.join(options.work, "seeds.txt"), "w") as file:
        file.write(seeds)
    pace = ["--delay", f"{options.delay_ms}ms", "--adaptive", "0", "--timeout", "3s", "--retries", "20"]
    start = [options.crawl, "--seed", os.path.join(options.work, "seeds.txt"), "--agent", "SuperRobot/1.0", "--out", out, "--quiet"]
    again = [options.crawl, "resume", out, "--quiet"]
    begun, samples, runs, ends = time.monotonic(), [], 0, {}
    # Runs until the crawl is through, half as long again at most.
    until = begun + options.minutes * 60 * 1.5
    command = start
    process = None
    while True:
        now = time.monotonic()
        calm = now > begun + options.minutes * 60 * CALM_FROM
        process = await asyncio.create_subprocess_exec(*command, *pace, stderr=subprocess.PIPE)
        runs += 1
        # The last third runs through; before that each process lives for a while.
        life = None if calm else RANDOM.uniform(5, max(8, options.minutes * 60 / 12))
        ending = asyncio.create_task(process.communicate())
        stop_at, since = (now + life if life else until), now
        next_phase = now
        while not ending.done():
            now = time.monotonic()
            if now >= next_phase:
                quiet = now > begun + options.minutes * 60 * CALM_FROM
                PHASE["kind"] = "calm" if quiet else RANDOM.choice(["calm", "calm", "503", "cut", "silent", "slow"])
                next_phase = now + 4
            if now >= stop_at:
                kind = RANDOM.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]) if life else signal.SIGTERM
                try:
                    process.send_signal(kind)
                except ProcessLookupError:
                    pass
                stop_at = now + 60
            used = rss(process.pid)
            if used and now - since > 3:
                samples.append((runs, now - begun, used))
            await asyncio.sleep(1)
        _, errors = ending.result()
        ends[process.returncode] = ends.get(process.returncode, 0) + 1
        if process.returncode not in (0, 10, 11, 12, -9):
            print(f"soak: exit {process.returncode}: {errors.decode()[-400:]}")
            return 1
        command = again if os.path.exists(os.path.join(out, "crawl.toml")) else start
        if command is start:
            shutil.rmtree(out, ignore_errors=True)
        if process.returncode == 0 or (calm and process.returncode != -9):
            break
    server.close()
    export = subprocess.run([options.crawl, "export", out, "--table", "pages", "--format", "jsonl"], capture_output=True, check=True)
    rows = [json.loads(line) for line in export.stdout.splitlines()]
    urls = [row["url"] for row in rows]
    good = {row["url"] for row in rows if row["status"] == 200}
    errors = subprocess.run([options.crawl, "export", out, "--table", "errors", "--format", "jsonl"], capture_output=True, check=True)
    failed = [json.loads(line) for line in errors.stdout.splitlines()]
    passing = [row for row in failed if row["kind"] != "http_404"]
    queue = subprocess.run([options.crawl, "export", out, "--table", "queue", "--format", "jsonl"], capture_output=True, check=True)
    queued = len(queue.stdout.splitlines())
    stats = json.loads(urllib.request.urlopen(f"http://127.0.0.1:{WEB}/__stats").read())
    audit = subprocess.run([options.crawl, "audit", out], capture_output=True, text=True)
    wanted = options.hosts * PAGES
    print(f"soak: {time.monotonic() - begun:.0f} s, {runs} runs, ended with {ends}; faults {FAULTS}")
    step = max(1, len(samples) // 12)
    with open(os.path.join(options.work, "memory.tsv"), "w") as file:
        file.writelines(f"{run}\t{at:.0f}\t{used:.0f}\n" for run, at, used in samples)
    print("soak: memory in MiB by seconds:", " ".join(f"{at:.0f}:{used:.0f}" for _, at, used in samples[::step]))
    lost = wanted - len(good) - queued - len(passing)
    print(f"soak: {len(good)} of {wanted} pages, {queued} URLs queued still, {len(passing)} given up; {len(urls) - len(set(urls))} twice in the table")
    print(f"soak: server: {stats['pages']} answers for {stats['unique_pages']} pages, disallowed {stats['disallowed']}, before robots {stats['before_robots']}")
    print(f"soak: audit exit {audit.returncode}")
    wrong = []
    if lost > 0:
        wrong.append(f"{lost} URLs lost")
    if len(urls) != len(set(urls)):
        wrong.append("pages stand twice in the table")
    if HASTY:
        wrong.append(f"{len(HASTY)} requests came before the delay was over: {HASTY[:3]}")
    if stats["disallowed"] or stats["before_robots"]:
        wrong.append("robots.txt was not obeyed")
    most = max(used for _, _, used in samples)
    half = sorted(used for _, at, used in samples if at < samples[-1][1] / 2)
    late = sorted(used for _, at, used in samples if at >= samples[-1][1] / 2)
    if half and late:
        print(f"soak: memory: median of the first half {half[len(half) // 2]:.0f} MiB, of the second {late[len(late) // 2]:.0f} MiB, at most {most:.0f} MiB")
        if late[len(late) // 2] > half[len(half) // 2] * 1.5 + 40:
            wrong.append("memory grew")
    if most > 300:
        wrong.append("more than 300 MiB")
    complete = queued == 0 or len(good) == wanted
    verdict = "URLs lost 0" if complete else "not through when the time was over, so what is lost can't be told"
    print(f"soak: {verdict}, memory flat" if not wrong else "soak: WRONG: " + "; ".join(wrong))
    return 1 if wrong else 0


web = subprocess.Popen([options.webgen, "--hosts", str(options.hosts), "--pages", str(PAGES), "--port", str(WEB)], stdout=subprocess.DEVNULL)
try:
    time.sleep(1)
    code = asyncio.run(soak())
finally:
    web.terminate()
sys.exit(code)
