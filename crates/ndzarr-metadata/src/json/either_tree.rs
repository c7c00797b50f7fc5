//! Trees of our own and those of serde_json, from the same text.

use proptest::prelude::*;

use crate::json::{IN_VALUES, Json, NonFinite, parse, parse_object, read_object};

/// Texts that are JSON or nearly so.
fn text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("NaN".to_owned()),
        Just("-Infinity".to_owned()),
        Just("1.50e+3".to_owned()),
        Just("01".to_owned()),
        Just("\"\\u00e9\\n\"".to_owned()),
        Just("\"\\ud800\"".to_owned()),
        Just("\"\\ud8x\"".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        "\"[a-c\\[{é]{0,3}\"",
    ];
    let name = prop_oneof![
        Just("\"attributes\"".to_owned()),
        Just("\"\\u0061\"".to_owned()),
        "\"[a-c]{0,2}\"".prop_map(|name| name),
    ];
    let value = leaf.prop_recursive(4, 60, 30, move |inner| {
        let member =
            (name.clone(), inner.clone()).prop_map(|(name, value)| format!("{name} :{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec(member, 0..30)
                .prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    });
    (
        value,
        prop_oneof![9 => Just(""), 1 => Just(","), 1 => Just(" \n"), 1 => Just("]")],
    )
        .prop_map(|(value, end)| value + end)
}

proptest! {
    /// Both trees of a document are equal, or both fail with the same error.
    #[test]
    fn either_tree_says_the_same(text in text()) {
        let whole = parse_object("k", text.as_bytes(), IN_VALUES);
        let read = read_object("k", text.as_bytes());
        match (whole, read) {
            (Ok(whole), Ok((members, attributes))) => {
                let names: Vec<&str> = members.keys().collect();
                prop_assert_eq!(&names, &whole.keys().collect::<Vec<_>>());
                prop_assert_eq!(members.len(), whole.len());
                prop_assert_eq!(attributes, whole.get("attributes").map(Json::to_value));
                for (name, value) in whole.iter() {
                    let member = members.get(name).expect("it has the name");
                    if name != "attributes" {
                        prop_assert_eq!(member, value);
                        prop_assert_eq!(&member.to_owned(), value);
                    }
                    let text = value.to_string();
                    let again = parse("k", text.as_bytes(), NonFinite::Accept).ok();
                    prop_assert_eq!(again.as_ref(), Some(value));
                }
                prop_assert!(members.get("d").is_none());
            }
            (Err(whole), Err(read)) => prop_assert_eq!(whole.to_string(), read.to_string()),
            (whole, read) => prop_assert!(false, "{:?} but {:?}", whole, read),
        }
    }
}

#[test]
fn numbers_are_read_from_their_text() {
    let tree = parse("k", b"[1.5, 7, true, null, \"a\"]", IN_VALUES).expect("valid");
    let items = tree.as_array().expect("a list");
    assert_eq!(
        (items[0].as_f64(), items[1].as_f64(), items[2].as_bool()),
        (Some(1.5), Some(7.0), Some(true))
    );
    assert_eq!(
        (items[3].is_null(), items[4].as_str(), items[4].is_string()),
        (true, Some("a"), true)
    );
    assert_eq!(
        (
            items[2].as_f64(),
            items[0].as_str(),
            tree.get("a").is_none()
        ),
        (None, None, true)
    );
}
