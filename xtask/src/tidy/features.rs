//! Features of shared dependencies that must stay off. Cargo unifies features: what a crate here
//! asks for, every program that depends on it gets.

use serde_json::Value;

use super::violation::Violation;

/// What a feature of a crate that speaks TLS brings.
const AWS_LC: &str = "aws-lc, a second TLS stack, which needs cmake";

/// Crates, features of them (a last `*` stands for any ending), and their effect on a program that
/// did not ask for them.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    (
        "serde_json",
        &["arbitrary_precision"],
        "tagged and untagged enums and flattened structs stop reading floats; our documents keep numbers in a type of their own",
    ),
    (
        "serde_json",
        &["preserve_order"],
        "objects change their order; our documents keep theirs in a type of their own",
    ),
    (
        "serde_json",
        &["float_roundtrip"],
        "floats are read as other values, and slower",
    ),
    (
        "serde_json",
        &["raw_value"],
        "objects with its private member are read as something else",
    ),
    (
        "log",
        &["max_level_*", "release_max_level_*"],
        "the program's own log messages vanish",
    ),
    (
        "tracing",
        &["max_level_*", "release_max_level_*"],
        "the program's own events vanish",
    ),
    (
        "tracing",
        &["log", "log-always"],
        "the program's events are logged, too",
    ),
    (
        "matrixmultiply",
        &["threading"],
        "the program's products of matrices start threads",
    ),
    (
        "ndarray",
        &["matrixmultiply-threading", "blas"],
        "the program's products of matrices are computed otherwise",
    ),
    (
        "rayon-core",
        &["web_spin_lock"],
        "threads spin where they wait",
    ),
    (
        "flate2",
        &["zlib", "zlib-default", "zlib-ng*", "cloudflare_zlib"],
        "streams are compressed by another C library",
    ),
    (
        "parking_lot",
        &["deadlock_detection", "send_guard"],
        "each lock of the program costs more, or its guards move",
    ),
    (
        "getrandom",
        &["custom", "rdrand"],
        "random numbers come from elsewhere",
    ),
    (
        "object_store",
        &["default", "fs", "aws", "gcp", "azure", "http", "aws-lc-rs"],
        AWS_LC,
    ),
    (
        "reqwest",
        &["default", "rustls", "default-tls", "__rustls-aws-lc-rs"],
        AWS_LC,
    ),
    (
        "reqwest",
        &["native-tls*", "__native-tls*"],
        "a second TLS stack",
    ),
    (
        "reqwest",
        &["gzip", "brotli", "deflate", "zstd"],
        "bodies are inflated on the way: sizes and ranges of values are then wrong",
    ),
    (
        "rustls",
        &["aws_lc_rs", "aws-lc-rs", "fips", "prefer-post-quantum"],
        AWS_LC,
    ),
    ("hyper-rustls", &["aws-lc-rs", "fips"], AWS_LC),
    ("tokio-rustls", &["aws_lc_rs", "aws-lc-rs", "fips"], AWS_LC),
];

/// Checks the features that the workspace is built with, including tests, tasks and all optional
/// parts; `None` if the text is not an answer of cargo.
pub(super) fn check(metadata: &Value) -> Option<Vec<Violation>> {
    Some(
        broken(metadata)?
            .into_iter()
            .map(|what| Violation::new("Cargo.toml", 1, what))
            .collect(),
    )
}

/// Features that are on and must not be; `None` if the text is not an answer of cargo.
fn broken(metadata: &Value) -> Option<Vec<String>> {
    let packages = metadata["packages"].as_array()?;
    let mut broken = Vec::new();
    for node in metadata["resolve"]["nodes"].as_array()? {
        let package = packages
            .iter()
            .find(|package| package["id"] == node["id"])?;
        let name = package["name"].as_str()?;
        for feature in node["features"].as_array()? {
            let feature = feature.as_str()?;
            let rule = FORBIDDEN.iter().find(|(krate, features, _)| {
                *krate == name && features.iter().any(|f| matches(f, feature))
            });
            if let Some((_, _, why)) = rule {
                let by = asking(packages, name, feature);
                if !by.is_empty() && by.iter().all(|package| is_program(package)) {
                    continue;
                }
                let by: Vec<&str> = by
                    .iter()
                    .filter_map(|package| package["name"].as_str())
                    .collect();
                let by = if by.is_empty() {
                    String::new()
                } else {
                    format!(" (by {})", by.join(", "))
                };
                broken.push(format!(
                    "{name}/{feature} is switched on{by}, and so in every program that depends on us: {why}"
                ));
            }
        }
    }
    Some(broken)
}

fn matches(pattern: &str, feature: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => feature.starts_with(start),
        None => pattern == feature,
    }
}

/// The packages that ask for the feature by name; another feature may also bring it.
fn asking<'m>(packages: &'m [Value], name: &str, feature: &str) -> Vec<&'m Value> {
    let asks = |dependency: &Value| {
        dependency["name"] == name
            && dependency["features"]
                .as_array()
                .is_some_and(|features| features.iter().any(|f| f == feature))
    };
    let asking = packages.iter().filter(|package| {
        package["dependencies"]
            .as_array()
            .is_some_and(|all| all.iter().any(asks))
    });
    asking.collect()
}

/// True if no program can depend on the package: crates.io does not have it.
fn is_program(package: &Value) -> bool {
    package["publish"].as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(krate: &str, features: &[&str], asked: &[&str]) -> Value {
        json!({
            "packages": [
                {"id": "a 1", "name": "ndzarr-a", "dependencies": [{"name": krate, "features": asked}]},
                {"id": "b 1", "name": krate, "dependencies": []},
            ],
            "resolve": {"nodes": [
                {"id": "a 1", "features": ["preserve_order"]},
                {"id": "b 1", "features": features},
            ]},
        })
    }

    #[test]
    fn a_feature_that_changes_programs_is_found_with_who_asks_for_it() {
        let answer = answer(
            "serde_json",
            &["default", "preserve_order", "std"],
            &["preserve_order"],
        );
        let found = broken(&answer).expect("an answer");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("serde_json/preserve_order is switched on (by ndzarr-a), "),
            "{found:?}"
        );
    }

    #[test]
    fn what_only_our_programs_ask_for_changes_no_other_program() {
        let mut answer = answer("serde_json", &["float_roundtrip"], &["float_roundtrip"]);
        answer["packages"][0]["publish"] = json!(["crates-io"]);
        assert_eq!(broken(&answer).expect("an answer").len(), 1);
        answer["packages"][0]["publish"] = json!([]);
        assert_eq!(broken(&answer).expect("an answer").len(), 0);
    }

    #[test]
    fn features_are_told_apart() {
        let n = |krate, features: &[&str]| {
            broken(&answer(krate, features, &[]))
                .expect("an answer")
                .len()
        };
        assert_eq!(n("serde_json", &["default", "std", "alloc"]), 0);
        assert_eq!(
            n("serde_json", &["arbitrary_precision", "float_roundtrip"]),
            2
        );
        assert_eq!(n("log", &["std", "release_max_level_info"]), 1);
        assert_eq!(n("logs", &["release_max_level_info"]), 0);
        assert_eq!(n("flate2", &["any_zlib", "zlib-rs"]), 0);
        assert_eq!(broken(&json!({"packages": []})), None);
    }
}
