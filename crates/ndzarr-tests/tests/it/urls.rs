//! The fuzz target for URLs on the texts that it begins with, and on texts made of these.

use ndzarr_testkit::Random;
use ndzarr_tests::url::{EXAMPLES, check};

#[test]
fn rs_48_urls_mean_what_they_say_and_keep_secrets() {
    EXAMPLES.iter().for_each(|text| check(text.as_bytes()));
    let mut random = Random::seeded("urls");
    let mut piece = |of: &[&str]| of[random.below(of.len() as u64) as usize].to_owned();
    for _ in 0..5000 {
        let texts: Vec<String> = (0..4).map(|_| piece(&EXAMPLES)).collect();
        let glue = piece(&[
            "", "|", ":", "/", "%", "%2", "%2F", "::", "?", "@", "..", "\0", "//", "|zip:",
        ]);
        let joined = texts.join(&glue);
        let cut: String = joined
            .chars()
            .skip(joined.len() % 7)
            .step_by(1 + glue.len() % 3)
            .collect();
        check(joined.as_bytes());
        check(cut.as_bytes());
    }
}
