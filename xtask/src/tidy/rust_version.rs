//! The minimum Rust version: no crate that our users get needs a newer one than we state.

use std::collections::BTreeSet;

use serde_json::Value;

use super::violation::Violation;

/// Checks what the published crates depend on, with all features, on any platform; `None` if the
/// text is not an answer of cargo.
pub(super) fn check(metadata: &Value) -> Option<Vec<Violation>> {
    let packages = metadata["packages"].as_array()?;
    let package = |id: &Value| packages.iter().find(|package| package["id"] == *id);
    let nodes = metadata["resolve"]["nodes"].as_array()?;
    let published =
        packages.iter().filter(|package| package["source"].is_null() && package["publish"].is_null());
    let mut pending: Vec<(&Value, (u64, u64))> = Vec::new();
    for own in published {
        pending.push((&own["id"], version(own)?));
    }
    let mut seen = BTreeSet::new();
    let mut violations = Vec::new();
    while let Some((id, ours)) = pending.pop() {
        if !seen.insert(id.as_str()?) {
            continue;
        }
        let found = package(id)?;
        // A crate that states none passes.
        if let Some(theirs) = version(found).filter(|&theirs| theirs > ours) {
            let name = found["name"].as_str()?;
            let what = format!("{name} needs Rust 1.{}, `rust-version` is 1.{}", theirs.1, ours.1);
            violations.push(Violation::new("Cargo.toml", 1, what));
        }
        let node = nodes.iter().find(|node| node["id"] == *id)?;
        for dependency in node["deps"].as_array()? {
            let kinds = dependency["dep_kinds"].as_array()?;
            if kinds.iter().any(|kind| kind["kind"] != "dev") {
                pending.push((&dependency["pkg"], ours));
            }
        }
    }
    Some(violations)
}

/// The major and minor version that a package states.
fn version(package: &Value) -> Option<(u64, u64)> {
    let mut parts = package["rust_version"].as_str()?.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn newer_versions_are_found_where_users_meet_them() {
        let package = |id: &str, rust: &str, source: Value, publish: Value| json!({"id": id, "name": id, "rust_version": rust, "source": source, "publish": publish});
        let needs = |id: &str, kind: Value| json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        let registry = json!("registry");
        let metadata = json!({
            "packages": [
                package("own", "1.89", Value::Null, Value::Null),
                package("task", "1.89", Value::Null, json!([])),
                package("old", "1.89.0", registry.clone(), Value::Null),
                package("new", "1.90", registry.clone(), Value::Null),
                package("tested", "1.95", registry.clone(), Value::Null),
                package("used", "1.96", registry, Value::Null),
            ],
            "resolve": {"nodes": [
                {"id": "own", "deps": [needs("old", Value::Null), needs("tested", json!("dev"))]},
                {"id": "task", "deps": [needs("used", Value::Null)]},
                {"id": "old", "deps": [needs("new", json!("build"))]},
                {"id": "new", "deps": []},
                {"id": "tested", "deps": []},
                {"id": "used", "deps": []},
            ]},
        });
        let found: Vec<String> = check(&metadata).expect("an answer").into_iter().map(|v| v.what).collect();
        assert_eq!(found, ["new needs Rust 1.90, `rust-version` is 1.89"]);
        assert_eq!(check(&json!({"packages": []})).map(|found| found.len()), None);
    }
}
