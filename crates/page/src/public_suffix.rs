//! The public suffix list. Its one place: the list is code that is compiled wherever it is used, 18 s of processor time each.

/// The registrable domain of a host's name by the list; none for a public suffix and for an empty name.
#[inline(never)]
pub fn registrable_domain(host: &str) -> Option<&str> {
    psl::domain_str(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_that_of_the_list() {
        // From the test data of publicsuffix.org.
        for (host, domain) in [
            ("com", None),
            ("www.example.com", Some("example.com")),
            ("a.b.test.ac.jp", Some("test.ac.jp")),
            ("www.www.ck", Some("www.ck")),
            ("c.kobe.jp", None),
            ("a.b.c.kobe.jp", Some("b.c.kobe.jp")),
            ("", None),
        ] {
            assert_eq!(registrable_domain(host), domain, "{host}");
        }
    }
}
