//! What a file re-exports.

/// A re-exported item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Export {
    /// As users of the file write it.
    pub(super) public: String,
    /// The crate that it comes from, and its name in that crate.
    pub(super) from: String,
    pub(super) name: String,
}

/// The items that a file of the crate `own` re-exports or defines as types, below `module`; inline
/// modules are followed. What the documentation hides is left out.
pub(super) fn exports(text: &str, module: &str, own: &str) -> Vec<Export> {
    let mut found = Vec::new();
    let mut inline = String::new();
    let mut pending = String::new();
    let mut hidden = false;
    for line in text.lines().map(str::trim) {
        hidden |= line == "#[doc(hidden)]";
        if line.starts_with("//") || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line
            .strip_prefix("pub mod ")
            .and_then(|rest| rest.strip_suffix(" {"))
        {
            inline = format!("{name}::");
        } else if line == "}" {
            inline.clear();
        } else if line.starts_with("pub use ")
            || line.starts_with("pub type ")
            || !pending.is_empty()
        {
            pending.push_str(line);
            pending.push(' ');
            if line.ends_with(';') {
                let statement = statement(
                    &std::mem::take(&mut pending),
                    &format!("{module}{inline}"),
                    own,
                );
                found.extend(statement.into_iter().filter(|_| !hidden));
                hidden = false;
            }
        }
    }
    found
}

/// The items of a `pub use` or `pub type`.
fn statement(text: &str, module: &str, own: &str) -> Vec<Export> {
    let text = text.trim().trim_end_matches(';');
    if let Some(alias) = text.strip_prefix("pub type ") {
        let name = alias.split(['<', ' ', '=']).next().unwrap_or_default();
        return vec![Export {
            public: format!("{module}{name}"),
            from: own.into(),
            name: name.into(),
        }];
    }
    let path = text.trim_start_matches("pub use ");
    let (from, names) = match path.split_once("::{") {
        Some((from, names)) => (from, names.trim_end_matches('}')),
        None => path.rsplit_once("::").unwrap_or((path, path)),
    };
    let from = match from
        .split("::")
        .next()
        .unwrap_or_default()
        .replace('_', "-")
    {
        from if from.starts_with("ndzarr-") || from == "ndarray" => from,
        _ => own.to_owned(),
    };
    let export = |name: &str| {
        let (name, public) = name.split_once(" as ").unwrap_or((name, name));
        Export {
            public: format!("{module}{public}"),
            from: from.clone(),
            name: name.to_owned(),
        }
    };
    names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(export)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_origins_are_found() {
        let text = "pub use ndzarr_array::{\n    A, B,\n};\npub use c::C as D;\n#[doc(hidden)]\npub use ndzarr_array::H;\npub mod m {\n    pub use ndzarr_store::c;\n}\npub type T<X> = U<X>;\n";
        let exports = exports(text, "", "ndzarr-x");
        let found: Vec<[&str; 3]> = exports
            .iter()
            .map(|export| [&export.public[..], &export.from, &export.name])
            .collect();
        let expected = [
            ["A", "ndzarr-array", "A"],
            ["B", "ndzarr-array", "B"],
            ["D", "ndzarr-x", "C"],
            ["m::c", "ndzarr-store", "c"],
            ["T", "ndzarr-x", "T"],
        ];
        assert_eq!(found, expected);
    }
}
