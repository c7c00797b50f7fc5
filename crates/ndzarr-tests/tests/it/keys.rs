//! Valid and invalid keys and prefixes of a store.

use ndzarr_store::{Key, Prefix};

#[test]
fn keys_never_lead_out() {
    for key in [
        "",
        "/a",
        "a/",
        "a//b",
        "..",
        "a/../b",
        "./a",
        "a\0b",
        "a\\b",
        "../../etc/passwd",
    ] {
        assert!(Key::new(key).is_err(), "{key:?}");
    }
    for key in ["a", "a/b", ".zarray", "c/0/0", "a..b", "...", "é"] {
        assert!(Key::new(key).is_ok(), "{key:?}");
    }
}

#[test]
fn prefixes_end_in_a_slash() {
    for prefix in ["a", "/", "a//", "../"] {
        assert!(Prefix::new(prefix).is_err(), "{prefix:?}");
    }
    assert_eq!(
        Prefix::new("a/")
            .and_then(|p| p.key("b"))
            .map(|k| k.to_string())
            .ok()
            .as_deref(),
        Some("a/b")
    );
}
