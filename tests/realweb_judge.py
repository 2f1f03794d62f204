"""realweb_judge.py COMPARE.json GROUNDTRUTH PAGES.jsonl - exit 1 unless the pages and their titles are those of the ground truth.

COMPARE.json is gt_compare.py's, GROUNDTRUTH the directory with urls.jsonl.gz and pages.jsonl.gz, PAGES.jsonl what
`crawl export --table pages --format jsonl` wrote.
"""

import gzip
import json
import sys
from urllib.parse import urlsplit


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8") as text:
        yield from map(json.loads, text)


def main():
    compare, truth, exported = sys.argv[1:]
    bad = []
    with open(compare, encoding="utf-8") as text:
        for host, figures in json.load(text).items():
            if figures["missing"]:
                bad.append(f"{host}: {figures['missing']} pages missing")
            # Pages that another reading of the links reaches (meta refresh) are known to the ground truth.
            unknown = figures["extra"] - figures["extra_known"]
            if unknown:
                bad.append(f"{host}: {unknown} pages that aren't in the ground truth")

    found, twice = {}, 0
    for page in lines(exported):
        url = urlsplit(page["url"])
        key = (url.hostname, url.path + (f"?{url.query}" if url.query else ""))
        twice += key in found
        found[key] = page
    if twice:
        bad.append(f"{twice} pages are recorded twice")

    inside = {(line["h"], line["p"]) for line in lines(f"{truth}/urls.jsonl.gz") if "x" not in line}
    titles = unrecorded = 0
    for line in lines(f"{truth}/pages.jsonl.gz"):
        key = (line["h"], line["p"])
        if key not in inside:
            continue
        if key not in found:
            unrecorded += 1
            bad.append(f"http://{key[0]}{key[1]}: not in the export")
            continue
        # White space collapsed on both sides; no title and an empty one are the same to a reader.
        mine, theirs = (" ".join((title or "").split()) for title in (found[key]["title"], line.get("t")))
        if mine != theirs:
            bad.append(f"http://{key[0]}{key[1]}: title {mine!r}, expected {theirs!r}")
        titles += mine == theirs
    print(f"titles equal {titles} of {len(inside)}, pages not recorded {unrecorded}, recorded twice {twice}")
    for problem in bad[:20]:
        print(f"  {problem}")
    if len(bad) > 20:
        print(f"  and {len(bad) - 20} more")
    sys.exit(1 if bad else 0)


main()
