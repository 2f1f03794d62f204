//! Which sites have PDF files that take all the time or memory that they may take: no site takes a processor for as long as it has such files.

use std::collections::HashMap;

use crate::scope::domain;
use page::url::CrawlUrl;

/// Files of a site that may fail.
const FAILURES: u64 = 6;

/// How many files have to be read for each further failure.
const READ_FOR_EACH: u64 = 100;

/// What was read of the sites that have a file which failed: in a run, or while an index is built.
#[derive(Debug, Default)]
pub(super) struct Sites(HashMap<String, Site>);

#[derive(Debug, Default)]
struct Site {
    failed: u64,
    succeeded: u64,
}

impl Sites {
    /// The site of a URL: its registrable domain, or its host.
    pub(super) fn site_of(url: &str) -> String {
        let host = CrawlUrl::parse(url).map(|url| url.host().to_owned()).unwrap_or_default();
        domain(&host).to_owned()
    }

    /// Whether one more file of a site may be read.
    pub(super) fn may_read(&self, site: &str) -> bool {
        self.0.get(site).is_none_or(|site| site.failed < FAILURES + site.succeeded / READ_FOR_EACH)
    }

    /// A file was read.
    pub(super) fn succeeded(&mut self, site: &str) {
        if let Some(site) = self.0.get_mut(site) {
            site.succeeded += 1;
        }
    }

    /// A file took all the time or memory that it may take.
    pub(super) fn failed(&mut self, site: String) {
        self.0.entry(site).or_default().failed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_whose_files_fail_is_given_up_and_no_other() {
        let mut sites = Sites::default();
        let site = Sites::site_of("http://www.a.example.org/1.pdf");
        assert_eq!(site, "example.org");
        assert_eq!(Sites::site_of("http://127.0.0.1:8080/1.pdf"), "127.0.0.1");
        sites.succeeded(&site);
        for _ in 0..6 {
            assert!(sites.may_read(&site));
            sites.failed(site.clone());
        }
        assert!(!sites.may_read(&site), "its subdomains count together");
        assert!(sites.may_read("example.net"));
        for _ in 0..100 {
            assert!(!sites.may_read(&site));
            sites.succeeded(&site);
        }
        assert!(sites.may_read(&site));
    }
}
