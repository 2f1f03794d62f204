//! What a query or a form says: names and values, several of one name.

use url::form_urlencoded;

/// The pairs of a query or a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    /// Reads what follows `?`, or the body of a form.
    pub(super) fn read(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The first value of a name that isn't empty, without blanks around it.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let of_name = self.0.iter().filter(|(known, _)| known == name);
        of_name.map(|(_, value)| value.trim()).find(|value| !value.is_empty())
    }

    /// All values of a name that aren't empty.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let of_name = self.0.iter().filter(move |(known, _)| known == name);
        of_name.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// The same as a query, with one value replaced, or taken away where the new one is empty.
    pub(super) fn with(&self, name: &str, value: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (known, old) in &self.0 {
            if known != name && !old.is_empty() {
                query.append_pair(known, old);
            }
        }
        if !value.is_empty() {
            query.append_pair(name, value);
        }
        query.finish()
    }
}

/// A path with one parameter.
pub(super) fn link(path: &str, name: &str, value: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair(name, value);
    format!("{path}?{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_may_have_a_name_several_times() {
        let params = Params::read(b"columns=url&columns=status&where=status+%3E%3D+400&limit=");
        assert_eq!(params.all("columns").collect::<Vec<_>>(), ["url", "status"]);
        assert_eq!(params.get("where"), Some("status >= 400"));
        assert_eq!(params.get("limit"), None);
        assert_eq!(params.with("where", ""), "columns=url&columns=status");
        assert_eq!(link("/url", "url", "http://a.test/?x&y"), "/url?url=http%3A%2F%2Fa.test%2F%3Fx%26y");
    }
}
