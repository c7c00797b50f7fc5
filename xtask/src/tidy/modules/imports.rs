//! The names that a `use` brings into a module.

/// Segments such as `["super", "chain", "CodecChain"]`.
pub(super) type Path = Vec<String>;

/// A name that a `use` brings in.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) path: Path,
    /// `*` for all that exist.
    pub(super) name: String,
    /// True if other modules can name it here: `pub use`, `pub(crate) use`.
    pub(super) is_reexport: bool,
}

/// The paths of a `use` with the names that they bring: `a::{self, b as c}` has `a` and `a::b` as
/// `c`.
pub(super) fn leaves(tree: &str, prefix: &[String]) -> Vec<(Path, String)> {
    let (path, group) = tree
        .split_once('{')
        .map_or((tree, None), |(path, group)| (path, Some(group)));
    let (path, name) = path.split_once(" as ").unwrap_or((path, ""));
    let segments = path
        .split("::")
        .map(str::trim)
        .filter(|segment| !segment.is_empty());
    let mut path: Path = prefix
        .iter()
        .cloned()
        .chain(segments.map(str::to_owned))
        .collect();
    if let Some(group) = group {
        let group = group.trim_end().strip_suffix('}').unwrap_or(group);
        let mut depth = 0;
        let parts = group.split(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        });
        return parts
            .filter(|part| !part.trim().is_empty())
            .flat_map(|part| leaves(part, &path))
            .collect();
    }
    if path.len() > 1
        && path
            .last()
            .is_some_and(|last| last == "self" || last == "*")
    {
        let last = path.pop().unwrap_or_default();
        if last == "*" {
            return vec![(path, last)];
        }
    }
    let last = path.last().cloned().unwrap_or_default();
    let name = if name.is_empty() {
        last
    } else {
        name.trim().to_owned()
    };
    vec![(path, name)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_taken_apart() {
        let leaves = leaves("crate::{a::{self , B , c::*} , D as E , }", &[]);
        let found: Vec<String> = leaves
            .iter()
            .map(|(path, name)| format!("{} {name}", path.join("::")))
            .collect();
        assert_eq!(
            found,
            ["crate::a a", "crate::a::B B", "crate::a::c *", "crate::D E"]
        );
    }
}
