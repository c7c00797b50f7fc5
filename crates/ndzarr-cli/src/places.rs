//! Shows places without the secrets that a URL may contain.

use std::path::Path;

/// A place without the user and the query of a URL: both may be credentials, and output ends up in
/// logs.
pub(crate) fn shown(place: &Path) -> String {
    without_secrets(&place.to_string_lossy())
}

/// The text of an error without the secrets of the arguments that it repeats.
pub(crate) fn without_secrets_of<'a>(
    arguments: impl Iterator<Item = &'a str>,
    mut text: String,
) -> String {
    for argument in arguments {
        // An error may repeat only the value of `--temp=https://host`.
        let value = argument
            .strip_prefix("--")
            .and_then(|option| option.split_once('='));
        let place = value.map_or(argument, |(_, value)| value);
        if place.contains("://") {
            text = text.replace(place, &without_secrets(place));
        }
    }
    text
}

fn without_secrets(place: &str) -> String {
    let Some((scheme, rest)) = place.split_once("://") else {
        return place.to_owned();
    };
    let end = rest.find(['?', '#', '|']).unwrap_or(rest.len());
    let (rest, after) = rest.split_at(end);
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    let is_port = port
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b']');
    let shown = if is_port {
        format!("{scheme}://{host}{path}")
    } else {
        // It is a password with a slash in it, so that nothing before an `@` is shown.
        format!(
            "{scheme}://{}",
            rest.rsplit_once('@').map_or("", |(_, host)| host)
        )
    };
    // A query may contain the character that begins the name of an adapter.
    let is_adapter = |part: &&str| {
        let name = part.split_once(':').map_or("", |(name, _)| name);
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let adapters = after.split('|').skip(1).filter(is_adapter);
    adapters.fold(shown, |shown, adapter| format!("{shown}|{adapter}"))
}

/// The prefix of the keys below a path.
pub(crate) fn below(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("{path}/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_queries_are_not_shown() {
        for (place, text) in [
            ("a/b?c@d#e.zarr", "a/b?c@d#e.zarr"),
            ("https://host/a.zarr", "https://host/a.zarr"),
            ("https://host:8080/a@b/c", "https://host:8080/a@b/c"),
            (
                "https://user:secret@host/a.zarr?sig=secret#secret",
                "https://host/a.zarr",
            ),
            (
                "s3://id:secret@bucket/a|zarr3:b/c",
                "s3://bucket/a|zarr3:b/c",
            ),
            (
                "https://host/a.zip?sig=secret|zip:b|zarr2:",
                "https://host/a.zip|zip:b|zarr2:",
            ),
            ("https://host/a?sig=se|cret", "https://host/a"),
            ("https://user:sec/ret@host/a", "https://host/a"),
            ("http://[::1]:9000/a?secret", "http://[::1]:9000/a"),
            ("http://[::1]/a?secret", "http://[::1]/a"),
            (
                "zip::https://user@host/a.zip?secret",
                "zip::https://host/a.zip",
            ),
        ] {
            assert_eq!(shown(Path::new(place)), text, "{place}");
        }
    }

    #[test]
    fn errors_do_not_repeat_them() {
        let arguments = [
            "cat",
            "https://host/a?secret",
            "--quick=https://host/b?secret",
        ];
        let text = "unexpected 'https://host/a?secret' and 'https://host/b?secret'".to_owned();
        let shown = without_secrets_of(arguments.into_iter(), text);
        assert_eq!(shown, "unexpected 'https://host/a' and 'https://host/b'");
    }
}
