//! Matches names against patterns such as `int*|bool`.

/// Whether a text fits one of the patterns in a list like `int*|bool`, where `*` stands for
/// anything.
pub(super) fn fits(patterns: &str, text: &str) -> bool {
    patterns.split('|').any(|pattern| fits_one(pattern, text))
}

fn fits_one(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    text.char_indices().map(|(i, _)| i).chain([text.len()]).any(|i| fits_one(rest, &text[i..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        assert!(fits("*", "") && fits("*", "x") && fits("a*c", "abbc") && fits("x|a*|y", "ab"));
        assert!(fits("*blosc*", "numcodecs.blosc") && fits("a", "a"));
        assert!(!fits("a*c", "abb") && !fits("a", "ab") && !fits("", "a") && !fits("a|b", "c"));
    }
}
