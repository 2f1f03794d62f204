from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, overload

import pandas
import pyarrow

__version__: str
SCHEMA_VERSION: int

Row = dict[str, Any]
Order = Literal["export", "stored"]

class CrawlError(Exception): ...
class NoCrawlError(CrawlError): ...
class InUseError(CrawlError): ...

class Crawl:
    def __new__(cls, directory: str | PathLike[str], /) -> Crawl: ...
    @property
    def directory(self) -> Path: ...
    @property
    def tables(self) -> list[str]: ...
    def table(
        self,
        name: str,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: Order = "export",
    ) -> Table: ...
    def pages(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: Order = "export",
        purpose: str | None = None,
    ) -> Table: ...
    def links(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: Order = "export",
        include_noindex: bool = False,
    ) -> Table: ...
    def hosts(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: Order = "export",
    ) -> Table: ...
    def queue(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: Order = "export",
    ) -> Table: ...
    def skipped(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: Order = "export",
    ) -> Table: ...
    def ledger(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: Order = "export",
    ) -> Table: ...
    def errors(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: Order = "export",
    ) -> Table: ...
    def duplicates(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: Order = "export",
    ) -> Table: ...
    @overload
    def robots(
        self,
        host: None = None,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: Order = "export",
    ) -> Table: ...
    @overload
    def robots(self, host: str) -> list[Row]: ...
    def robots_txt(self, host: str) -> list[Row]: ...
    def page(self, url: str) -> Row | None: ...
    def explain(self, url: str) -> Row: ...
    def summary(self) -> Row: ...
    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        host: str | Sequence[str] | None = None,
        lang: str | Sequence[str] | None = None,
    ) -> list[Row]: ...
    def search_counts(
        self,
        query: str,
        *,
        host: str | Sequence[str] | None = None,
        lang: str | Sequence[str] | None = None,
    ) -> Row: ...
    def close(self) -> None: ...
    def __enter__(self) -> Crawl: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
        /,
    ) -> None: ...

class Table:
    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def schema(self) -> list[Row]: ...
    def __iter__(self) -> RowIterator: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def to_arrow(self) -> pyarrow.Table: ...
    def to_pandas(self) -> pandas.DataFrame: ...

class RowIterator(Iterator[Row]):
    def __iter__(self) -> RowIterator: ...
    def __next__(self) -> Row: ...
