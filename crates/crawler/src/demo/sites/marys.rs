//! Mary's Antiques.

use super::{Site, SitePage, classic_links};

/// The file of table 9-4.
const ROBOTS_TXT: &str = "\
# Mary's Antiques. Please mind the vases.

User-Agent: Suzy-Spider
Disallow: /dynamic
Allow: /private/suzy-stuff
Disallow: /private

User-Agent: Furniture-Finder
Allow: /dynamic/check-inventory
Disallow: /dynamic
Disallow: /private

User-Agent: *
Disallow: /dynamic
Disallow: /private
";

pub(super) fn site() -> Site {
    Site { host: "www.marys-antiques.com", name: "Mary's Antiques", robots_txt: ROBOTS_TXT, pages: pages() }
}

fn pages() -> Vec<SitePage> {
    let front = format!(
        "<p>Old things for people who have everything new.</p>\n{}\
         <p>Now in: <a href=\"/lamps.html\">lamps</a>, a <a href=\"/chairs.html\">set of chairs</a>,\n\
         a <a href=\"/ledger.txt\">ledger of 1911</a> and its <a href=\"/valuation.txt\">valuation</a>,\n\
         the <a href=\"/auction.html\">auction room</a>, and a <a href=\"/harp.html\">harp</a> (sold).</p>\n\
         <p>Nails come from <a href=\"http://www.joes-hardware.com/\">Joe's Hardware</a>.</p>\n",
        classic_links()
    );
    vec![
        SitePage::html(
            "/",
            "Mary's Antiques",
            "<meta name=\"description\" content=\"Old things on loopback.\">\n",
            &front,
        ),
        SitePage::html("/index.html", "Mary's Antiques", "<link rel=\"canonical\" href=\"/\">\n", &front),
        SitePage::document(
            "/private/payroll.xls",
            "application/vnd.ms-excel",
            "name\twage\nMary\ta vase a month\n",
        ),
        SitePage::document(
            "/private/suzy-stuff/taxes.txt",
            "text/plain; charset=utf-8",
            "Put here for Suzy, who likes figures.\nOwed: nothing. Kept: the receipts.\n",
        ),
        SitePage::html(
            "/dynamic/buy-stuff?id=3546",
            "Sold!",
            "",
            "<p>One grandfather clock, to a robot. It is never late now.</p>\n",
        ),
        SitePage::html(
            "/dynamic/check-inventory?kitchen",
            "Stock: kitchen",
            "",
            "<p>Dressers: 2. Tables: 1. Copper pans: more than the wall can hold.</p>\n",
        ),
        SitePage::html(
            "/lamps.html",
            "Lamps",
            "",
            "<p>Gas, oil and one that nobody dares to plug in.</p>\n\
             <p><a href=\"/\">Back to the shop</a></p>\n",
        ),
        SitePage::html(
            "/chairs.html",
            "A set of chairs",
            "<meta name=\"Nosy-Bot\" content=\"noindex, nofollow\">\n",
            "<p>Six chairs, five of them alike. See <a href=\"/chairs/fifth.html\">the other one</a>.</p>\n",
        ),
        SitePage::html(
            "/chairs/fifth.html",
            "The other chair",
            "",
            "<p>Only the page about the chairs links here, and it asks Nosy-Bot not to follow.</p>\n",
        ),
        SitePage::document(
            "/ledger.txt",
            "text/plain; charset=utf-8",
            "12 March 1911. Bought: one vase. Dropped: same.\n",
        )
        .with("X-Robots-Tag", "noarchive"),
        SitePage::document(
            "/valuation.txt",
            "text/plain; charset=utf-8",
            "Draft, not for the index: the vase was worth a fortune.\n",
        )
        .with("X-Robots-Tag", "Furniture-Finder: noarchive")
        .with("X-Robots-Tag", "noindex"),
        SitePage::html(
            "/auction.html",
            "Auction room",
            "<meta name=\"robots\" content=\"none\">\n",
            "<p>Bids are between us: <a href=\"/auction/lot-1.html\">lot 1</a>.</p>\n",
        ),
        SitePage::html("/auction/lot-1.html", "Lot 1", "", "<p>Only a page under none links here.</p>\n"),
    ]
}
