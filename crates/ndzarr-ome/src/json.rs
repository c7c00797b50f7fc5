//! Reads numbers, texts and paths of documents leniently, because writers differ.

use serde_json::{Map, Value};

/// The members of a JSON object.
pub(crate) type Object = Map<String, Value>;

/// A number, or a text that contains one (OME-18).
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A list of numbers.
pub(crate) fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(number).collect()
}

/// An integer, which may be written as a float.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    let float = || {
        value
            .as_f64()
            .filter(|float| float.fract() == 0.0 && float.abs() < 9e15)
    };
    value.as_i64().or_else(|| float().map(|float| float as i64))
}

/// A text.
pub(crate) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The items of a list; none for other values.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A version, which may be a number (OME-10).
pub(crate) fn version(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The object with the metadata of OME-Zarr: since 0.5 the attribute `ome`.
pub(crate) fn namespace(attributes: &Object) -> &Object {
    attributes
        .get("ome")
        .and_then(Value::as_object)
        .unwrap_or(attributes)
}

/// The most warnings or findings about one document: more say nothing new, and documents may be
/// large.
pub(crate) const MAX_MESSAGES: usize = 1000;

/// A value for a message, shortened.
pub(crate) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// A path relative to a group, unless it leads out of the group (OME-15).
pub(crate) fn path_below(path: &str) -> Result<String, String> {
    let inner = path.strip_suffix('/').unwrap_or(path);
    let leads_out = inner.split('/').any(|part| matches!(part, "" | "." | ".."));
    if leads_out || inner.contains(['\\', '\0']) {
        return Err(format!(
            "has the path {:?}, which does not lead to something below it",
            shortened(path)
        ));
    }
    Ok(inner.to_owned())
}

/// The beginning of a text, for a message.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ome_18_numbers_may_be_texts_and_integers_floats() {
        assert_eq!(
            numbers(&json!([1, 2.5, "0.25", " 4e-3 "])),
            Some(vec![1.0, 2.5, 0.25, 0.004])
        );
        assert!(number(&json!("NaN")).is_some_and(f64::is_nan));
        assert_eq!(numbers(&json!([1, "x"])), None);
        assert_eq!(numbers(&json!({"a": 1})), None);
        assert_eq!(
            [json!(3), json!(3.0), json!(-1)].map(|v| integer(&v)),
            [Some(3), Some(3), Some(-1)]
        );
        assert_eq!(
            [json!(3.5), json!("3"), json!(1e300)].map(|v| integer(&v)),
            [None; 3]
        );
    }

    #[test]
    fn ome_15_paths_that_lead_out_are_refused() {
        for path in [
            "../other",
            "/0",
            "a/../../b",
            "http://x/y",
            "",
            ".",
            "a//b",
            "..",
            "a\\..\\b",
            "a/\0",
        ] {
            let what = path_below(path).expect_err(path);
            assert!(what.contains("below it"), "{what}");
        }
        for (path, inner) in [
            ("0", "0"),
            ("s0/", "s0"),
            ("path/to/0", "path/to/0"),
            ("..a", "..a"),
        ] {
            assert_eq!(path_below(path).as_deref(), Ok(inner));
        }
    }

    #[test]
    fn messages_are_short() {
        assert!(shown(&json!("é".repeat(500))).chars().count() < 70);
        assert!(
            path_below(&"../".repeat(10_000))
                .expect_err("it leads out")
                .len()
                < 200
        );
    }
}
