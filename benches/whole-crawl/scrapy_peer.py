"""Scrapy on the generated web: scrapy_peer.py SEEDS OUT.jsonl [PAGES]. One request at a time per host, robots.txt obeyed, no delay."""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

seeds, out = sys.argv[1:3]
limit = int(sys.argv[3]) if len(sys.argv) > 3 else 0


class Pages(scrapy.Spider):
    name = "pages"
    extractor = LinkExtractor()

    async def start(self):
        with open(seeds) as file:
            for line in file:
                yield scrapy.Request(line.strip())

    def parse(self, response):
        links = [link.url for link in self.extractor.extract_links(response)]
        description = response.css('meta[name="description"]::attr(content)').get()
        yield {"url": response.url, "title": response.css("title::text").get(), "description": description, "links": links}
        for link in links:
            yield scrapy.Request(link)


process = CrawlerProcess(
    {
        "USER_AGENT": "SuperRobot/1.0",
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 32,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": 0,
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "LOG_LEVEL": "ERROR",
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "RETRY_ENABLED": False,
        "CLOSESPIDER_PAGECOUNT": limit,
        "FEEDS": {out: {"format": "jsonlines"}},
    }
)
process.crawl(Pages)
process.start()
