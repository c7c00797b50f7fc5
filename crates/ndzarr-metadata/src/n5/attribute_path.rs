//! Attribute paths as Java N5 reads them since version 3: `a/b[2]/c`.

use ndzarr_json::JsonText;

use crate::json::{Json, Members};

/// Maximum total growth of the arrays on a path: a mistyped index must not fill the memory.
const MAX_GROWTH: usize = 1 << 16;

/// A normalised path into a JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttributePath {
    absolute: bool,
    /// As written, escapes included.
    tokens: Vec<String>,
}

impl AttributePath {
    /// Splits at `/` and around `[N]`, drops empty and `.` tokens, and lets `..` remove the token
    /// before it.
    ///
    /// A path without an effective `/` or `[N]` is one literal key, including `.` and `..`, as in
    /// Java.
    pub(crate) fn parse(path: &str) -> Self {
        let (tokens, separated) = split(path);
        if !separated {
            return Self {
                absolute: false,
                tokens: tokens.into_iter().filter(|t| !t.is_empty()).collect(),
            };
        }
        let mut kept: Vec<String> = Vec::new();
        for token in tokens {
            match token.as_str() {
                "" | "." => {}
                ".." => drop(kept.pop()),
                _ => kept.push(token),
            }
        }
        Self {
            absolute: path.starts_with('/'),
            tokens: kept,
        }
    }

    /// The value there, if there is one.
    #[cfg(test)]
    pub(crate) fn get<'a>(&self, document: &'a Json<'a>) -> Option<&'a Json<'a>> {
        self.tokens
            .iter()
            .try_fold(document, |value, token| match (value, index(token)) {
                (Json::Object(members), _) => members.get(&unescape(token)),
                (Json::Array(items), Some(Ok(index))) => items.get(index),
                _ => None,
            })
    }

    /// Puts `value` there. Parents that are missing or of another kind are created; arrays grow,
    /// filled with 0 before a number and with `null` before anything else. As a member's value,
    /// `null` removes the member, as in Java's writer.
    ///
    /// # Errors
    /// Names the index that is out of bounds, or says that the path is deeper than a document may
    /// be.
    pub(crate) fn set<'a>(&self, document: &mut Json<'a>, value: Json<'a>) -> Result<(), String> {
        if self.tokens.len() > JsonText::MAX_DEPTH {
            return Err(format!("has more than {} steps", JsonText::MAX_DEPTH));
        }
        let Some((last, parents)) = self.tokens.split_last() else {
            *document = value;
            return Ok(());
        };
        let mut place = document;
        let mut growth = MAX_GROWTH;
        for (i, token) in parents.iter().enumerate() {
            let next = &self.tokens[i + 1];
            place = step(place, token, &Json::Null, &mut growth)?;
            make_parent(place, next);
        }
        make_parent(place, last);
        match place {
            Json::Object(members) if value.is_null() => drop(members.remove(&unescape(last))),
            place => {
                let target = step(place, last, &value, &mut growth)?;
                *target = value;
            }
        }
        Ok(())
    }

    /// Removes the value there; later elements of an array move up. The whole document becomes
    /// `null`. Returns whether there was anything.
    pub(crate) fn remove(&self, document: &mut Json<'_>) -> bool {
        let Some((last, parents)) = self.tokens.split_last() else {
            return !std::mem::take(document).is_null();
        };
        let parent =
            parents
                .iter()
                .try_fold(document, |value, token| match (value, index(token)) {
                    (Json::Object(members), _) => members.get_mut(&unescape(token)),
                    (Json::Array(items), Some(Ok(index))) => items.get_mut(index),
                    _ => None,
                });
        match (parent, index(last)) {
            (Some(Json::Object(members)), _) => members.remove(&unescape(last)).is_some(),
            (Some(Json::Array(items)), Some(Ok(index))) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        }
    }
}

/// The normal form.
impl std::fmt::Display for AttributePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}{}",
            if self.absolute { "/" } else { "" },
            self.tokens.join("/")
        )
    }
}

/// Makes `place` something that `token` can lead into: an array for `[N]`, otherwise an object. An
/// object that has a member of exactly that name stays one.
fn make_parent(place: &mut Json<'_>, token: &str) {
    let fits = match place {
        Json::Object(members) => index(token).is_none() || members.contains_key(&unescape(token)),
        Json::Array(_) => index(token).is_some(),
        _ => false,
    };
    if !fits {
        *place = if index(token).is_some() {
            Json::Array(Vec::new())
        } else {
            Json::Object(Members::new())
        };
    }
}

/// The place that `token` leads to, created if necessary. `goal` is the value to put there,
/// `growth` the number of elements that may still be added.
fn step<'p, 'a>(
    place: &'p mut Json<'a>,
    token: &str,
    goal: &Json<'_>,
    growth: &mut usize,
) -> Result<&'p mut Json<'a>, String> {
    make_parent(place, token);
    match place {
        Json::Array(items) => {
            let too_far =
                || format!("more than {MAX_GROWTH} elements would be filled up to reach {token}");
            let index = match index(token) {
                Some(Ok(index)) if index.saturating_sub(items.len()) < *growth => index,
                _ => return Err(too_far()),
            };
            if items.len() <= index {
                *growth -= index - items.len();
                items.resize(
                    index + 1,
                    if goal.number().is_some() {
                        Json::from(0)
                    } else {
                        Json::Null
                    },
                );
            }
            items.get_mut(index).ok_or_else(too_far)
        }
        Json::Object(members) => Ok(members.entry(&unescape(token))),
        _ => Err(format!("{token} leads nowhere")),
    }
}

/// The literal tokens of a path, and whether there was any separator among them.
fn split(path: &str) -> (Vec<String>, bool) {
    let mut tokens = Vec::new();
    let mut token = String::new();
    let mut separated = false;
    let mut rest = path;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("\\/") || rest.starts_with("\\[") {
            token.push_str(&rest[..2]);
            rest = &rest[2..];
        } else if let Some(len) = index_len(rest) {
            separated = true;
            tokens.push(std::mem::take(&mut token));
            tokens.push(rest[..len].to_owned());
            rest = &rest[len..];
        } else {
            rest = &rest[c.len_utf8()..];
            if c == '/' {
                separated = true;
                tokens.push(std::mem::take(&mut token));
            } else {
                token.push(c);
            }
        }
    }
    tokens.push(token);
    (tokens, separated)
}

/// Length in bytes of the `[N]` at the start of `text`.
fn index_len(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('[')?;
    let n_digits = digits.bytes().take_while(u8::is_ascii_digit).count();
    (n_digits > 0 && digits.as_bytes().get(n_digits) == Some(&b']')).then_some(n_digits + 2)
}

/// The N of a token that is exactly `[N]`; an error if it is too large for this machine.
fn index(token: &str) -> Option<Result<usize, std::num::ParseIntError>> {
    (index_len(token)? == token.len()).then(|| token[1..token.len() - 1].parse())
}

fn unescape(token: &str) -> String {
    token.replace("\\/", "/").replace("\\[", "[")
}

#[cfg(test)]
mod tests {
    use crate::json::json;

    use super::*;

    /// The table of Java's N5URITest.
    #[test]
    fn n5_attribute_paths_are_normalised() {
        for (path, expected) in [
            ("/a/b[1]/c/..", "/a/b/[1]"),
            ("../a/../b", "b"),
            ("/a/[0]/b[0]/", "/a/[0]/b/[0]"),
            ("./a././././", "a."),
            ("a[0]\\[10]b", "a/[0]/\\[10]b"),
            ("\\/a\\/b", "\\/a\\/b"),
            ("a[1]c", "a/[1]/c"),
            ("/a/b/c/d/e/", "/a/b/c/d/e"),
            ("/", "/"),
            ("", ""),
            ("/a/../b/../c/d/../..", "/"),
            ("/./././././.", "/"),
            ("./././././", ""),
            ("./a./\\\\././.", "a./\\\\."),
            ("[0]", "[0]"),
            ("/[0]b/", "/[0]/b"),
            ("[b]", "[b]"),
            ("a[b00]c", "a[b00]c"),
            ("[ ]", "[ ]"),
            ("[\n]", "[\n]"),
            (
                "[ ][\n][\t][ \t \n \r\n][\r\n]",
                "[ ][\n][\t][ \t \n \r\n][\r\n]",
            ),
            (
                "let's/try/a/real/////case////with spaces/",
                "let's/try/a/real/case/with spaces",
            ),
            (
                "/../first/relative/test/../a/b/.././wd///.w/asd",
                "/first/relative/a/wd/.w/asd",
            ),
            ("../result/../multiple/../..", ""),
            ("/../a/../../b", "/b"),
            ("/a\\\\/b/c", "/a\\\\/b/c"),
            ("a[b]\\[10]", "a[b]\\[10]"),
            ("[\\[10]\\[20]]", "[\\[10]\\[20]]"),
            ("[\\[10][20]]", "[\\[10]/[20]/]"),
            ("\\/", "\\/"),
            ("ä[0]€", "ä/[0]/€"),
        ] {
            assert_eq!(AttributePath::parse(path).to_string(), expected, "{path:?}");
        }
    }

    fn set(document: Json<'static>, path: &str, value: Json<'static>) -> Json<'static> {
        let mut document = document;
        AttributePath::parse(path)
            .set(&mut document, value)
            .expect("within bounds");
        document
    }

    #[test]
    fn n5_setting_makes_parents_and_grows_arrays() {
        assert_eq!(
            set(json!({}), "fill[3]", json!(7)),
            json!({"fill": [0, 0, 0, 7]})
        );
        assert_eq!(
            set(json!({}), "a/b[2]/c", json!(1.5)),
            json!({"a": {"b": [null, null, {"c": 1.5}]}})
        );
        assert_eq!(
            set(json!({}), "s[1]", json!("x")),
            json!({"s": [null, "x"]})
        );
        assert_eq!(set(json!({}), "\\/a\\/b", json!(1)), json!({"/a/b": 1}));
        assert_eq!(
            set(json!({}), "\\/k\\[0]", json!(true)),
            json!({"/k[0]": true})
        );
        assert_eq!(
            set(json!({"a": [1, 2]}), "/a/[1]/", json!(5)),
            json!({"a": [1, 5]})
        );
    }

    #[test]
    fn n5_setting_replaces_parents_of_another_kind() {
        assert_eq!(
            set(json!({"a": 1, "z": 2}), "a/b", json!(3)),
            json!({"a": {"b": 3}, "z": 2})
        );
        assert_eq!(
            set(json!({"a": {"b": 1}}), "a[0]", json!(3)),
            json!({"a": [3]})
        );
        assert_eq!(
            set(json!({"a": [1]}), "a/b", json!(3)),
            json!({"a": {"b": 3}})
        );
        assert_eq!(set(json!({"a": 1}), "/", json!("String")), json!("String"));
        assert_eq!(
            set(json!({"a": 1, "b": 2, "c": 3}), "a", Json::Null),
            json!({"b": 2, "c": 3})
        );
        assert_eq!(
            set(json!({"a": [1, 2]}), "a[0]", Json::Null),
            json!({"a": [null, 2]})
        );
    }

    #[test]
    fn n5_lookup_prefers_members_over_indices() {
        let document = json!({"a": [10, {"b": 20}], "o": {"[0]": 30}, "/x/y": 40});
        let get = |path: &str| AttributePath::parse(path).get(&document).cloned();
        assert_eq!(get("a[0]"), Some(json!(10)));
        assert_eq!(get("/a[1]b"), Some(json!(20)));
        assert_eq!(get("a[2]"), None);
        assert_eq!(get("a/0"), None);
        assert_eq!(get("o[0]"), Some(json!(30)));
        assert_eq!(get("\\/x\\/y"), Some(json!(40)));
        assert_eq!(get("/"), Some(document.clone()));
        assert_eq!(get(""), Some(document.clone()));
        assert_eq!(get("a/b"), None);
    }

    #[test]
    fn n5_removal_shifts_elements() {
        let remove = |mut document: Json<'static>, path: &str| {
            let found = AttributePath::parse(path).remove(&mut document);
            (document, found)
        };
        assert_eq!(
            remove(json!({"a": [1, 2, 3]}), "a[1]"),
            (json!({"a": [1, 3]}), true)
        );
        assert_eq!(
            remove(json!({"a": {"b": 1}, "c": 2}), "a/b"),
            (json!({"a": {}, "c": 2}), true)
        );
        assert_eq!(remove(json!({"a": 1}), "/"), (Json::Null, true));
        assert_eq!(
            remove(json!({"a": [1]}), "a[7]"),
            (json!({"a": [1]}), false)
        );
        assert_eq!(remove(json!({"a": 1}), "b/c"), (json!({"a": 1}), false));
        let (rest, _) = remove(json!({"a": 1, "b": 2, "c": 3}), "a");
        assert_eq!(rest.to_string(), r#"{"b":2,"c":3}"#, "the order stays");
    }

    #[test]
    fn n5_a_huge_index_or_depth_is_an_error() {
        for path in [
            "a[99999999999999999999999]",
            "a[4000000000]",
            "a[70000]",
            "a[40000][40000]",
        ] {
            let mut document = json!({});
            assert!(
                AttributePath::parse(path)
                    .set(&mut document, json!(1))
                    .is_err(),
                "{path}"
            );
        }
        assert_eq!(
            set(json!({}), "a[60000]", json!(1))
                .get("a")
                .and_then(Json::as_array)
                .map(Vec::len),
            Some(60_001)
        );
        let deep = "a/".repeat(1_000_000);
        assert!(
            AttributePath::parse(&deep)
                .set(&mut json!({}), json!(1))
                .is_err()
        );
    }
}
