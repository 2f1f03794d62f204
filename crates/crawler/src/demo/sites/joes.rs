//! Joe's Hardware.

use super::{Site, SitePage, classic_links};

/// The three records of table 9-4, each with Joe's scratch directory besides.
const ROBOTS_TXT: &str = "\
# Joe's Hardware. Robots are welcome in the shop, not in the office.

User-Agent: Suzy-Spider
Disallow: /dynamic
Allow: /private/suzy-stuff
Disallow: /private
Disallow: /tmp

User-Agent: Furniture-Finder
Allow: /dynamic/check-inventory
Disallow: /dynamic
Disallow: /private
Disallow: /tmp

User-Agent: *
Disallow: /dynamic
Disallow: /private
Disallow: /tmp
";

pub(super) fn site() -> Site {
    Site { host: "www.joes-hardware.com", name: "Joe's Hardware", robots_txt: ROBOTS_TXT, pages: pages() }
}

fn pages() -> Vec<SitePage> {
    let front = format!(
        "<p>Hammers, hinges and honest advice since this demo was written.</p>\n{}\
         <p>See our <a href=\"/acetylene-torches.html\">acetylene torches</a>,\n\
         the <a href=\"/catalog.html\">catalogue</a> (it moved),\n\
         what <a href=\"/friends.html\">friends of the shop</a> say,\n\
         the <a href=\"/price-list.html\">price list</a>, the <a href=\"/staff-rota.html\">staff rota</a>,\n\
         last year's <a href=\"/anvils.html\">anvils</a> (sold out, page gone)\n\
         and the <a href=\"/tmp/scratch.html\">scratch pad</a>.\n\
         Visitors write into our <a href=\"/guestbook.html\" rel=\"nofollow\">guest book</a>.</p>\n\
         <p>For chairs go to\n\
         <a href=\"http://www.marys-antiques.com/\">Mary's Antiques</a> across the road.</p>\n",
        classic_links()
    );
    vec![
        SitePage::html(
            "/",
            "Joe's Hardware",
            "<meta name=\"description\" content=\"Tools and torches on loopback.\">\n",
            &front,
        ),
        SitePage::html("/index.html", "Joe's Hardware", "<link rel=\"canonical\" href=\"/\">\n", &front),
        SitePage::document(
            "/private/payroll.xls",
            "application/vnd.ms-excel",
            "name\twage\nJoe\tnot your business\n",
        ),
        SitePage::document(
            "/private/suzy-stuff/taxes.txt",
            "text/plain; charset=utf-8",
            "Suzy asked for these figures, so Suzy may read them.\nPaid: all of it.\n",
        ),
        SitePage::html(
            "/dynamic/buy-stuff?id=3546",
            "Your basket",
            "",
            "<p>One left-handed screwdriver. A robot that got here has just bought it.</p>\n",
        ),
        SitePage::html(
            "/dynamic/check-inventory?kitchen",
            "Stock: kitchen",
            "",
            "<p>Hinges for kitchen doors: 212. Handles: 97. Patience: low.</p>\n",
        ),
        SitePage::html(
            "/acetylene-torches.html",
            "Acetylene torches",
            "<meta name=\"keywords\" content=\"torch, welding, gas\">\n",
            "<p>Two models: one that welds, and one that is on sale.</p>\n\
             <p><a href=\"/\">Back to the shop</a></p>\n",
        ),
        SitePage::moved("/catalog.html", "/catalogue-2026.html"),
        SitePage::html(
            "/catalogue-2026.html",
            "Catalogue 2026",
            "",
            "<p>Everything in the shop, in the order in which Joe can find it.</p>\n",
        ),
        SitePage::html(
            "/friends.html",
            "Friends of the shop",
            "<meta name=\"robots\" content=\"nofollow\">\n",
            "<p>Joe doesn't vouch for what they link to:\n\
             <a href=\"/miracle-glue.html\">miracle glue</a>.</p>\n",
        ),
        SitePage::html(
            "/miracle-glue.html",
            "Miracle glue",
            "",
            "<p>Only a page under nofollow links here: a polite robot never comes.</p>\n",
        ),
        SitePage::html(
            "/price-list.html",
            "Price list",
            "<meta name=\"robots\" content=\"noarchive\">\n",
            "<p>Prices change daily: find them, but keep no copy. Nails: 0.02 each.</p>\n",
        ),
        SitePage::html(
            "/staff-rota.html",
            "Staff rota",
            "<meta name=\"robots\" content=\"noindex\">\n",
            "<p>Monday: Joe. Tuesday to Saturday: also Joe.\n\
             The <a href=\"/opening-hours.html\">opening hours</a> follow from it.</p>\n",
        ),
        SitePage::html(
            "/opening-hours.html",
            "Opening hours",
            "",
            "<p>Whenever Joe is in.\n\
             Only a page under noindex links here: its links count all the same.</p>\n",
        ),
        SitePage::html(
            "/guestbook.html",
            "Guest book",
            "",
            "<p>Only a link with rel=nofollow leads here.</p>\n",
        ),
        SitePage::html("/tmp/scratch.html", "Scratch pad", "", "<p>Half a sum and a drawing of a cat.</p>\n"),
    ]
}
