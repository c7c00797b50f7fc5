//! The macro `json!`, which writes values as JSON.

/// A value written as JSON with expressions in it. Like serde_json's macro, but members keep their
/// order.
///
/// ```
/// use ndzarr_json::json;
///
/// let level = 5;
/// assert_eq!(json!({"name": "gzip", "configuration": {"level": level}}).to_string(),
///     r#"{"name":"gzip","configuration":{"level":5}}"#);
/// ```
#[macro_export]
macro_rules! json {
    (@members $members:ident) => {};
    (@members $members:ident $name:literal: null $(, $($rest:tt)*)?) => {
        $members.insert($name, $crate::Json::Null);
        $($crate::json!(@members $members $($rest)*);)?
    };
    (@members $members:ident $name:literal: {$($value:tt)*} $(, $($rest:tt)*)?) => {
        $members.insert($name, $crate::json!({$($value)*}));
        $($crate::json!(@members $members $($rest)*);)?
    };
    (@members $members:ident $name:literal: [$($value:tt)*] $(, $($rest:tt)*)?) => {
        $members.insert($name, $crate::json!([$($value)*]));
        $($crate::json!(@members $members $($rest)*);)?
    };
    (@members $members:ident $name:literal: $value:expr $(, $($rest:tt)*)?) => {
        $members.insert($name, $crate::Json::from($value));
        $($crate::json!(@members $members $($rest)*);)?
    };
    (null) => { $crate::Json::Null };
    ({}) => { $crate::Json::Object($crate::Members::new()) };
    ({$($members:tt)+}) => {{
        let mut members = $crate::Members::new();
        $crate::json!(@members members $($members)+);
        $crate::Json::Object(members)
    }};
    ([$($item:tt),* $(,)?]) => { $crate::Json::Array(vec![$($crate::json!($item)),*]) };
    ([$($item:expr),* $(,)?]) => { $crate::Json::Array(vec![$($crate::Json::from($item)),*]) };
    ($value:expr) => { $crate::Json::from($value) };
}
