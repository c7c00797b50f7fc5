//! A profile of the files that AWS's tools share.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use crate::settings::ini;
use crate::settings::setting::Setting;
use crate::settings::variables::Variables;

/// The settings of a profile in both files.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    name: String,
    values: Values,
}

/// Values by name. `Debug` shows only the names, since values may be secrets.
#[derive(Default)]
struct Values(BTreeMap<String, String>);

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Profile {
    /// The profile that `AWS_PROFILE` names, or else the default one, which is empty if it does not
    /// exist.
    ///
    /// # Errors
    ///
    /// If a named profile does not exist, or a file cannot be read.
    pub(crate) fn find(variables: Variables<'_>) -> Result<Self, String> {
        let named = variables
            .get("AWS_PROFILE")
            .or_else(|| variables.get("AWS_DEFAULT_PROFILE"));
        let name = named.unwrap_or("default").to_owned();
        let credentials = file(variables, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
        let config = file(variables, "AWS_CONFIG_FILE", "config");
        let mut values = BTreeMap::new();
        let mut found = false;
        let mut config_sections = vec![format!("profile {name}")];
        if name == "default" {
            config_sections.insert(0, name.clone());
        }
        // The values of the first file take precedence.
        for (path, sections) in [
            (&credentials, &vec![name.clone()]),
            (&config, &config_sections),
        ] {
            let Some(path) = path else { continue };
            let text = match std::fs::read(path) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(format!("{}: {error}", path.display())),
            };
            let mut read = ini::read(&text);
            let Some(section) = sections.iter().find_map(|section| read.remove(section)) else {
                continue;
            };
            found = true;
            let services = section.get("services").and_then(|services| {
                let url = read
                    .get(&format!("services {services}"))?
                    .get("s3.endpoint_url")?;
                Some(("endpoint_url".to_owned(), url.clone()))
            });
            for (name, value) in services.into_iter().chain(section) {
                values.entry(name).or_insert(value);
            }
        }
        if named.is_some() && !found {
            let paths = [credentials, config];
            let searched: Vec<_> = paths
                .iter()
                .flatten()
                .map(|path| path.display().to_string())
                .collect();
            let files = if searched.is_empty() {
                "no file".to_owned()
            } else {
                searched.join(" or ")
            };
            return Err(format!(
                "the profile {name:?} that AWS_PROFILE names is not in {files}"
            ));
        }
        Ok(Self {
            name,
            values: Values(values),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The value of this name, unless it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values
            .0
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The value of this name as a setting, which names the profile in errors.
    pub(crate) fn setting(&self, name: &str) -> Option<Setting> {
        Some(Setting::new(
            format!("{name} of the profile {:?}", self.name),
            self.get(name)?,
        ))
    }
}

/// The file that a variable names, or the one in the folder `.aws`.
fn file(variables: Variables<'_>, variable: &str, name: &str) -> Option<PathBuf> {
    let home = || {
        variables
            .get("HOME")
            .or_else(|| variables.get("USERPROFILE"))
    };
    match variables.get(variable) {
        Some(path) => Some(match path.strip_prefix("~/").zip(home()) {
            Some((rest, home)) => PathBuf::from(home).join(rest),
            None => path.into(),
        }),
        None => Some(PathBuf::from(home()?).join(".aws").join(name)),
    }
}
