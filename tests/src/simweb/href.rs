//! The many ways in which one link can be written.

use url::Url;

/// Writes the link to `to` in one of ten ways, as on a page whose base is `base`.
pub(super) fn written(way: u64, base: &str, to: &str) -> String {
    let rest = to.strip_prefix("http://").unwrap_or(to);
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let same_host = base.strip_prefix("http://").is_some_and(|base| base.starts_with(&format!("{host}/")));
    match way {
        0 => format!("HTTP://{}{path}", host.to_uppercase()),
        1 => format!("http://{host}:80{path}"),
        2 => format!("//{host}{path}"),
        3 => format!("{to}#part"),
        4 => format!(" {to}\n"),
        5 if same_host => format!("/zzz/..{path}"),
        6 | 7 if same_host => path.to_owned(),
        8 | 9 => relative(base, to).unwrap_or_else(|| to.to_owned()),
        _ => to.to_owned(),
    }
}

fn relative(base: &str, to: &str) -> Option<String> {
    let text = Url::parse(base).ok()?.make_relative(&Url::parse(to).ok()?)?;
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_leads_to_the_target() {
        for base in ["http://h1.test/", "http://h1.test/dir1/dir2/p3.html", "http://h1.test/q?id=3&lang=en"] {
            for to in [
                "http://h1.test/",
                "http://h1.test/dir1/p4.html",
                "http://h1.test/q?id=5&lang=en",
                "http://h10.test/x",
            ] {
                for way in 0..10 {
                    let href = written(way, base, to);
                    let mut found = Url::parse(base).unwrap().join(&href).unwrap();
                    found.set_fragment(None);
                    assert_eq!(found.as_str(), to, "way {way} from {base}: {href}");
                }
            }
        }
    }
}
