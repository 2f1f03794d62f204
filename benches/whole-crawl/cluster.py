"""Crawls one generated web with several workers of a cluster, and measures the workers and their database. See `run`.

Each number of workers has a fresh server and a fresh database. CPU is user and system time, of all workers and of PostgreSQL with what it starts;
the web's isn't counted. Bytes are those of the database when the crawl is complete, and of its write-ahead log.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

from postgres import Postgres
from web import Web

parser = argparse.ArgumentParser(description="one crawl with several workers on one machine")
parser.add_argument("--hosts", type=int, default=100)
parser.add_argument("--pages", type=int, default=200, help="pages of each host")
parser.add_argument("--workers", type=int, nargs="+", default=[1, 4], metavar="N")
parser.add_argument("--partitions", type=int, default=64)
parser.add_argument("--crawl", required=True, help="the program")
parser.add_argument("--bin", required=True, help="directory of web and floor")
parser.add_argument("--json", help="file for the figures")
options = parser.parse_args()

def one(postgres, workers, work):
    name = f"workers{workers}"
    postgres.sql(f"create database {name}")
    url = postgres.url(name)
    out = os.path.join(work, name)
    os.mkdir(out)
    with Web(options.bin, options.hosts, options.pages) as web:
        seeds = os.path.join(out, "seeds.txt")
        with open(seeds, "w") as file:
            file.write(web.seeds)
        common = ["--agent", "SuperRobot/1.0", "--contact", "bench@example.org", "--delay", "0s", "--adaptive", "0", "--no-warc"]
        init = [options.crawl, "cluster", "init", url, "--seed", seeds, *common, "--partitions", str(options.partitions), "--single-server", "-q"]
        subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
        wal = postgres.sql("select pg_current_wal_lsn()")
        before, start = postgres.cpu_s(), time.monotonic()
        began = [
            subprocess.Popen([options.crawl, "worker", "--cluster", url, "--out", os.path.join(out, str(number)), "-q"], stdout=subprocess.DEVNULL)
            for number in range(workers)
        ]
        cpu = 0
        for child in began:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode:
                raise SystemExit(f"a worker ended with exit code {child.returncode}")
            cpu += usage.ru_utime + usage.ru_stime
        wall = time.monotonic() - start
        server = web.stats()
    pages = server["unique_pages"]
    sizes = json.loads(
        postgres.sql(
            "select json_object_agg(relname, pg_total_relation_size(oid)) from pg_class where relname in ('kv_state', 'kv_queue', 'kv_records')",
            name,
        )
    )
    return {
        "workers": workers,
        "pages": pages,
        "wall_s": wall,
        "pages_per_s": pages / wall,
        "worker_cpu_ms_per_page": 1000 * cpu / pages,
        "database_cpu_ms_per_page": 1000 * (postgres.cpu_s() - before) / pages,
        "wal_bytes_per_page": int(postgres.sql(f"select pg_wal_lsn_diff(pg_current_wal_lsn(), '{wal}')::bigint")) / pages,
        "frontier_bytes_per_page": (sizes["kv_state"] + sizes["kv_queue"]) / pages,
        "record_bytes_per_page": sizes["kv_records"] / pages,
        "web": server,
    }


def floor_cpu_ms(work):
    """What the floor takes for a page of the same web: the speed of the machine at this moment. See `compare.py`."""
    with Web(options.bin, options.hosts, options.pages) as web:
        seeds = os.path.join(work, "floor-seeds.txt")
        with open(seeds, "w") as file:
            file.write(web.seeds)
        child = subprocess.Popen([os.path.join(options.bin, "floor"), seeds, os.path.join(work, "floor.jsonl")])
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"the floor ended with exit code {child.returncode}")
        return 1000 * (usage.ru_utime + usage.ru_stime) / web.stats()["unique_pages"]


def main():
    total = options.hosts * options.pages
    print(f"{options.hosts} hosts, {total:,} pages, {options.partitions} partitions; {os.cpu_count()} processors, {platform.system()}, {time.strftime('%Y-%m-%d')}\n")
    print("| workers | pages/s | CPU ms a page, workers | CPU ms a page, database | KB of log a page | bytes a page, frontier | bytes a page, records | pages found |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        floor = floor_cpu_ms(work)
        directory = os.path.join(work, "postgres")
        os.mkdir(directory)
        with Postgres(directory) as postgres:
            for workers in options.workers:
                row = one(postgres, workers, work)
                rows.append(row)
                print(
                    f"| {row['workers']} | {row['pages_per_s']:,.0f} | {row['worker_cpu_ms_per_page']:.3f} | {row['database_cpu_ms_per_page']:.3f} "
                    f"| {row['wal_bytes_per_page'] / 1000:.1f} | {row['frontier_bytes_per_page']:,.0f} | {row['record_bytes_per_page']:,.0f} | {row['pages']:,} |",
                    flush=True,
                )
    print(f"\nThe floor takes {floor:.3f} ms of this machine a page, without any database.")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"floor_cpu_ms_per_page": floor, "runs": rows}, file, indent=1)


sys.exit(main())
