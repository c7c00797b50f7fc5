//! The outcome of building and testing for a system.

use std::fmt;

/// The outcome for one system.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) builds: bool,
    /// True if tests were run at all.
    pub(super) ran: bool,
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// The names of the tests that failed, and of programs that ended without a result.
    pub(super) failures: Vec<String>,
}

impl Outcome {
    /// A system for which something was only built.
    pub(super) fn built(builds: bool) -> Self {
        Self {
            builds,
            ..Self::default()
        }
    }

    /// Adds one more run, which gives no counts.
    pub(super) fn also(mut self, what: &str, passes: bool) -> Self {
        if !passes {
            self.failures.push(what.to_owned());
        }
        self
    }

    /// The sum of both.
    pub(super) fn joined(mut self, other: Self) -> Self {
        self.builds &= other.builds;
        self.ran |= other.ran;
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self
    }

    pub(super) fn is_good(&self) -> bool {
        self.builds && self.failures.is_empty() && self.failed == 0
    }

    /// Reads what `cargo test` printed on both of its outputs, joined.
    pub(super) fn read(text: &str) -> Self {
        let mut outcome = Self {
            builds: true,
            ran: true,
            ..Self::default()
        };
        let mut running: Option<&str> = None;
        for line in text.lines().map(str::trim) {
            if let Some(program) = line.strip_prefix("Running ") {
                outcome.died(running.replace(program));
            } else if let Some(result) = line.strip_prefix("test result: ") {
                let count = |what: &str| {
                    let mut words = result
                        .split(&[' ', ';'])
                        .filter(|word| !word.is_empty())
                        .rev();
                    words.by_ref().find(|word| *word == what);
                    words
                        .next()
                        .and_then(|n| n.parse::<u64>().ok())
                        .unwrap_or(0)
                };
                outcome.passed += count("passed");
                outcome.failed += count("failed");
                running = None;
            } else if let Some(test) = line
                .strip_prefix("test ")
                .and_then(|line| line.strip_suffix("FAILED"))
            {
                outcome.failures.push(
                    test.trim_end()
                        .trim_end_matches("...")
                        .trim_end()
                        .to_owned(),
                );
            }
        }
        outcome.died(running);
        outcome
    }

    /// A program that ended before it printed how many tests passed.
    fn died(&mut self, program: Option<&str>) {
        self.failures
            .extend(program.map(|program| format!("{program} ended without a result")));
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let builds = if self.builds { "yes" } else { "no" };
        if self.ran {
            write!(f, "{builds} | {} | {}", self.passed, self.failed)
        } else {
            write!(f, "{builds} | not run | not run")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_programs_are_added() {
        let text = "
     Running unittests src/lib.rs (target/a)
test one ... ok
test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
     Running tests/it/main.rs (target/b)
test two::three ... FAILED
test result: FAILED. 30 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
     Running tests/memory/main.rs (target/c)
running 5 tests
     Running tests/cases/main.rs (target/d)
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
";
        let outcome = Outcome::read(text);
        assert_eq!((outcome.passed, outcome.failed), (49, 1));
        let died = "tests/memory/main.rs (target/c) ended without a result";
        assert_eq!(outcome.failures, ["two::three", died]);
        assert!(!outcome.is_good());
        assert_eq!(outcome.to_string(), "yes | 49 | 1");
    }

    #[test]
    fn a_command_that_fails_is_a_failure() {
        let passed = Outcome::built(true).also("cargo run", true);
        assert!(passed.is_good());
        let failed = passed.also("cargo run", false);
        assert_eq!(
            (failed.is_good(), failed.failures),
            (false, vec!["cargo run".to_owned()])
        );
    }
}
