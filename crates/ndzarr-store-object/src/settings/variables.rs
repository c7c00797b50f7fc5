//! Environment variables that are set.

/// Names and values.
#[derive(Clone, Copy)]
pub(crate) struct Variables<'v>(pub(crate) &'v [(String, String)]);

impl<'v> Variables<'v> {
    pub(crate) fn get(self, name: &str) -> Option<&'v str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    pub(crate) fn is_yes(self, name: &str) -> bool {
        let yes = ["1", "true", "yes", "on"];
        self.get(name)
            .is_some_and(|value| yes.contains(&&*value.to_ascii_lowercase()))
    }

    pub(crate) fn has_all(self, names: &[&str]) -> bool {
        names.iter().all(|name| self.get(name).is_some())
    }
}
