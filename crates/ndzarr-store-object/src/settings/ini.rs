//! The files that AWS's tools share: sections of `name = value`.

use std::collections::BTreeMap;

/// Sections by the name between their brackets. Indented lines have a name of two parts, of which
/// the first is that of the line above them: `s3.endpoint_url`.
pub(crate) type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// Reads a file. Lines that are not understood are skipped, as AWS's tools do.
pub(crate) fn read(text: &str) -> Sections {
    let mut sections = Sections::new();
    let mut section = None;
    let mut parent = None;
    for line in text.trim_start_matches('\u{feff}').lines() {
        let is_indented = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            sections.entry(name.clone()).or_default();
            section = Some(name);
            parent = None;
            continue;
        }
        let Some(section) = section.as_ref().and_then(|name| sections.get_mut(name)) else {
            continue;
        };
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        let name = name.trim().to_ascii_lowercase();
        let value = without_comment(value);
        match &parent {
            Some(parent) if is_indented => {
                section.insert(format!("{parent}.{name}"), value);
            }
            _ => {
                parent = Some(name.clone());
                section.insert(name, value);
            }
        }
    }
    sections
}

/// A value without its comment, which begins with a `#` or `;` after a blank.
fn without_comment(text: &str) -> String {
    let comment = [" #", " ;", "\t#", "\t;"]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min();
    text[..comment.unwrap_or(text.len())].trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_names_and_values() {
        let text = "\u{feff}lost = 1\n# a comment\n[default]\nRegion=eu-west-1 # here\n\n; another\n\
                    [profile  a b ]\r\naws_secret_access_key = k#/=;+ \r\ns3 =\n  endpoint_url = http://a\n\
                    \tmax_queue_size = 1\nregion = x\nnonsense\n[services s]\n s3 =\n";
        let sections = read(text);
        assert_eq!(
            sections.keys().collect::<Vec<_>>(),
            ["default", "profile a b", "services s"]
        );
        assert_eq!(sections["default"]["region"], "eu-west-1");
        let profile = &sections["profile a b"];
        assert_eq!(profile["aws_secret_access_key"], "k#/=;+");
        assert_eq!(profile["s3.endpoint_url"], "http://a");
        assert_eq!(profile["region"], "x");
        assert_eq!(profile.len(), 5);
    }
}
