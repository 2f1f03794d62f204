"""Reads what the program ``crawl`` has crawled.

    from crawl import Crawl

    with Crawl("crawl-data") as crawl:
        for page in crawl.pages(where="status >= 400"):
            print(page["url"], page["status"])
        pages = crawl.pages().to_arrow()          # a pyarrow.Table

Every method reads by the program's own reader; docs/python.md has examples, docs/schema.md every column.
"""

from ._native import (
    SCHEMA_VERSION,
    Crawl,
    CrawlError,
    InUseError,
    NoCrawlError,
    RowIterator,
    Table,
    __version__,
)

__all__ = [
    "SCHEMA_VERSION",
    "Crawl",
    "CrawlError",
    "InUseError",
    "NoCrawlError",
    "RowIterator",
    "Table",
    "__version__",
]
