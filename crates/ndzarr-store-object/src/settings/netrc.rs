//! Passwords of web servers, from the file `.netrc` that curl, wget and Python's requests share.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// The header `Authorization` for a host, from the entry for this machine or else from the default
/// one.
pub(crate) fn authorization(text: &str, host: &str) -> Option<String> {
    let entries = entries(text);
    let of_host = entries.iter().find(|entry| entry.machine == Some(host));
    let entry = of_host.or_else(|| entries.iter().find(|entry| entry.machine.is_none()))?;
    let pair = format!("{}:{}", entry.login?, entry.password?);
    Some(format!("Basic {}", BASE64_STANDARD.encode(pair)))
}

#[derive(Default)]
struct Entry<'t> {
    /// `None` for the entry `default`.
    machine: Option<&'t str>,
    login: Option<&'t str>,
    password: Option<&'t str>,
}

fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut words = words(text).into_iter();
    while let Some(word) = words.next() {
        match word {
            "machine" => entries.push(Entry {
                machine: words.next(),
                ..Entry::default()
            }),
            "default" => entries.push(Entry::default()),
            "login" | "user" => set(&mut entries, |entry| entry.login = words.next()),
            "password" => set(&mut entries, |entry| entry.password = words.next()),
            // `account`, which web servers do not have, or a word that only other programs know.
            _ => {
                words.next();
            }
        }
    }
    entries
}

fn set<'t>(entries: &mut [Entry<'t>], set: impl FnOnce(&mut Entry<'t>)) {
    if let Some(last) = entries.last_mut() {
        set(last);
    }
}

/// The words of a file, without comments and macros; a macro ends at an empty line.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut in_macro = false;
    for line in text.lines() {
        in_macro &= !line.trim().is_empty();
        if in_macro {
            continue;
        }
        for word in line.split_whitespace() {
            // A password may begin with `#`.
            let is_value = words
                .last()
                .is_some_and(|last| ["login", "user", "password"].contains(last));
            if word.starts_with('#') && !is_value {
                break;
            }
            in_macro = word == "macdef" && !is_value;
            if in_macro {
                break;
            }
            words.push(unquoted(word));
        }
    }
    words
}

fn unquoted(word: &str) -> &str {
    word.strip_prefix('"')
        .and_then(|word| word.strip_suffix('"'))
        .unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf user:secret | base64`
    const OF_USER: &str = "Basic dXNlcjpzZWNyZXQ=";
    /// `printf any:#1 | base64`
    const OF_ANY: &str = "Basic YW55OiMx";

    #[test]
    fn the_entry_of_the_machine_counts_then_the_default() {
        let text = "# ours\nmachine other login a password b\nmachine data.org\n  login user\n  password \"secret\"\n\
                    macdef init\nmachine data.org login x password y\n\ndefault login any password #1 # all\n";
        assert_eq!(authorization(text, "data.org").as_deref(), Some(OF_USER));
        assert_eq!(authorization(text, "elsewhere").as_deref(), Some(OF_ANY));
        assert_eq!(
            authorization(
                "machine data.org account c password secret user user",
                "data.org"
            )
            .as_deref(),
            Some(OF_USER)
        );
    }

    #[test]
    fn what_is_incomplete_gives_nothing() {
        for text in [
            "",
            "machine",
            "login a password b",
            "machine h login a",
            "machine h password",
            "macdef x\nmachine h login a password b",
        ] {
            assert_eq!(authorization(text, "h"), None, "{text:?}");
        }
    }
}
