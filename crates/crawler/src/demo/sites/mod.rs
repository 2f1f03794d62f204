//! The two classic sites as data.

mod joes;
mod marys;

/// The six URLs of table 9-4, as path and query. Both sites have all of them.
pub const CLASSIC: [&str; 6] = [
    "/",
    "/index.html",
    "/private/payroll.xls",
    "/private/suzy-stuff/taxes.txt",
    "/dynamic/buy-stuff?id=3546",
    "/dynamic/check-inventory?kitchen",
];

/// A site: its name, its robots.txt and its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Host name, lower case: `www.joes-hardware.com`.
    pub host: &'static str,
    /// What people call it: `Joe's Hardware`.
    pub name: &'static str,
    /// The text of `/robots.txt`.
    pub robots_txt: &'static str,
    /// Everything else. No two pages have the same path.
    pub pages: Vec<SitePage>,
}

impl Site {
    /// Returns the page at a path (with its query), if there is one.
    pub fn page(&self, path: &str) -> Option<&SitePage> {
        self.pages.iter().find(|page| page.path == path)
    }

    /// Returns the URL at which a crawl of the site starts.
    pub fn front_page(&self) -> String {
        format!("http://{}/", self.host)
    }
}

/// A page: what the server answers at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SitePage {
    /// Path, with its query.
    pub path: &'static str,
    /// Status code.
    pub status: u16,
    /// Header fields beside Content-Length and Connection.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body.
    pub body: String,
}

impl SitePage {
    /// An HTML page; `head` follows the title in its head.
    fn html(path: &'static str, title: &str, head: &str, body: &str) -> Self {
        let body = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <title>{title}</title>\n{head}</head>\n\
             <body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
        );
        Self { path, status: 200, headers: vec![("Content-Type", "text/html; charset=utf-8")], body }
    }

    /// A document of another type.
    fn document(path: &'static str, content_type: &'static str, body: &str) -> Self {
        Self { path, status: 200, headers: vec![("Content-Type", content_type)], body: body.to_owned() }
    }

    /// A redirect for good.
    fn moved(path: &'static str, to: &'static str) -> Self {
        Self { path, status: 301, headers: vec![("Location", to)], body: String::new() }
    }

    /// Adds a header field.
    fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// Returns both sites, Joe's first.
pub fn all() -> Vec<Site> {
    vec![joes::site(), marys::site()]
}

/// The list of links to the six URLs that both front pages show.
fn classic_links() -> String {
    let items: Vec<String> =
        CLASSIC.iter().map(|path| format!("<li><a href=\"{path}\">{path}</a></li>\n")).collect();
    format!("<ul>\n{}</ul>\n", items.concat())
}

#[cfg(test)]
mod tests;
