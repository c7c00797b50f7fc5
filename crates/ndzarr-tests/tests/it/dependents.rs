//! A program that depends on this crate keeps working: features of dependencies are unified, so
//! features enabled here are enabled in the program, too.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, from_str, from_value, json};

/// As in OME-NGFF.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Transformation {
    Scale { scale: Vec<f64> },
    Translation { translation: Vec<f64> },
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Either {
    Number(f64),
    Text(String),
}

#[derive(Debug, Deserialize)]
struct Rest {
    a: u8,
    #[serde(flatten)]
    more: BTreeMap<String, f64>,
}

#[test]
fn serde_json_reads_what_it_reads_without_ndzarr() {
    // So that the library is linked into the program.
    assert!(ndzarr::MemoryStore::new().keys().is_empty());
    let scale = Transformation::Scale {
        scale: vec![1.0, 0.325, 0.325],
    };
    let text = r#"{"type": "scale", "scale": [1.0, 0.325, 0.325]}"#;
    assert_eq!(from_str::<Transformation>(text).ok(), Some(scale));
    let value = json!({"type": "translation", "translation": [1.5]});
    let translation = Transformation::Translation {
        translation: vec![1.5],
    };
    assert_eq!(from_value::<Transformation>(value).ok(), Some(translation));
    assert_eq!(from_str::<Either>("1.5").ok(), Some(Either::Number(1.5)));
    assert_eq!(from_str::<Either>("3").ok(), Some(Either::Number(3.0)));
    assert_eq!(
        from_str::<Either>(r#""3""#).ok(),
        Some(Either::Text("3".to_owned()))
    );
    assert_eq!(
        from_value::<Either>(json!(1.5)).ok(),
        Some(Either::Number(1.5))
    );
    let rest: Rest = from_str(r#"{"a": 1, "b": 2.5, "c": 1e300}"#).expect("numbers");
    assert_eq!((rest.a, rest.more["b"], rest.more["c"]), (1, 2.5, 1e300));
}

#[test]
fn values_of_serde_json_are_what_they_are_without_ndzarr() {
    let value = |text: &str| from_str::<Value>(text).expect("JSON");
    assert_eq!(value("1.0"), value("1.00"));
    assert_eq!(value("1.0"), value("1e0"));
    assert_eq!(json!(0.1f32).to_string(), "0.10000000149011612");
    assert_eq!(
        value("123456789012345678901234567890").as_f64(),
        Some(1.234_567_890_123_456_8e29)
    );
    assert!(from_str::<Value>("1e400").is_err());
    assert_eq!(value(r#"{"b":1,"a":2}"#).to_string(), r#"{"a":2,"b":1}"#);
}
