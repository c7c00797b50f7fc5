//! What clients read, judged by what is known of them, and the section of `docs/internals/support.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::limits::{self, Known, Read};
use crate::conformance::pattern::fits;

const TITLE: &str = "\n## Programs that read what ndzarr wrote\n";

/// The section in a page, from its title to the next.
///
/// # Errors
///
/// The page has none.
pub(in crate::conformance) fn section(page: &str) -> Result<&str, String> {
    let start = page.find(TITLE).ok_or("the page has no section on clients")?;
    let end = page[start + TITLE.len()..].find("\n## ").ok_or("no section follows that on clients")?;
    Ok(&page[start..start + TITLE.len() + end])
}

/// Arrays that were changed after ndzarr had written them. A client that sees no difference compares
/// nothing.
const CONTROLS: &str = "*, a chunk replaced";

/// One client and array.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Outcome {
    client: String,
    version: String,
    array: String,
    read: Read,
    /// What differs, the client's words, or the type that it gave instead.
    detail: String,
}

impl Outcome {
    /// Reads a line of the scripts.
    ///
    /// # Errors
    ///
    /// It has another form.
    pub(super) fn parse(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|_| format!("not an outcome: {line}"))
    }

    fn is_control(&self) -> bool {
        fits(CONTROLS, &self.array)
    }

    /// The place in the table of what explains it.
    fn known(&self) -> Option<usize> {
        limits::TABLE.iter().position(|known| {
            fits(known.clients, &self.client)
                && fits(known.arrays, &self.array)
                && known.read == self.read
                && self.detail.contains(known.says)
        })
    }

    fn is_right(&self) -> bool {
        match self.read {
            _ if self.is_control() => self.read == Read::Differs,
            Read::Agrees => true,
            Read::Differs | Read::Refuses => self.known().is_some(),
        }
    }
}

/// All outcomes, and what was not run.
#[derive(Debug, Default)]
pub(super) struct Report {
    outcomes: Vec<Outcome>,
    not_run: Vec<String>,
}

impl Report {
    /// Adds what these clients read. One without an outcome was not run.
    pub(super) fn add(&mut self, clients: &[&str], outcomes: Result<Vec<Outcome>, String>) {
        let (outcomes, why) = match outcomes {
            Ok(outcomes) => (outcomes, "it read no array".to_owned()),
            Err(why) => (Vec::new(), why),
        };
        for client in clients {
            if !outcomes.iter().any(|outcome| outcome.client == *client && outcome.is_control()) {
                self.not_run.push(format!("{client} was not run: {why}"));
            }
        }
        self.outcomes.extend(outcomes);
    }

    pub(super) fn count(&self) -> usize {
        self.outcomes.len()
    }

    fn wrong(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| !outcome.is_right())
    }

    /// What is said of clients that ran and did not show it.
    fn unmet(&self) -> impl Iterator<Item = &'static Known> {
        limits::TABLE.iter().enumerate().filter_map(|(at, known)| {
            let ran = self.outcomes.iter().any(|outcome| fits(known.clients, &outcome.client));
            let met = self.outcomes.iter().any(|outcome| outcome.known() == Some(at));
            (ran && !met).then_some(known)
        })
    }

    /// Prints how many arrays each client read, and what is wrong.
    #[allow(clippy::print_stdout)]
    pub(super) fn show(&self) {
        for (client, version) in self.clients() {
            let of = |wanted: fn(&Outcome) -> bool| {
                self.outcomes.iter().filter(|outcome| outcome.client == client && wanted(outcome)).count()
            };
            println!(
                "{client} {version}: {} arrays agree, {} meet a known limit, {} controls differ, {} WRONG",
                of(|it| it.read == Read::Agrees && it.is_right()),
                of(|it| it.read != Read::Agrees && it.is_right() && !it.is_control()),
                of(|it| it.is_control() && it.is_right()),
                of(|it| !it.is_right()),
            );
        }
        for Outcome { client, array, read, detail, .. } in self.wrong() {
            eprintln!("WRONG {client}: {array}: {read:?}: {detail}");
        }
        for Known { clients, arrays, why, .. } in self.unmet() {
            eprintln!("this limit no longer applies: {clients}: {arrays}: {why}");
        }
        self.not_run.iter().for_each(|line| eprintln!("{line}"));
    }

    /// Whether all ran and are right.
    ///
    /// # Errors
    ///
    /// How much is not.
    pub(super) fn judge(&self) -> Result<(), String> {
        match (self.wrong().count(), self.unmet().count(), self.not_run.len()) {
            (0, 0, 0) => Ok(()),
            (wrong, unmet, not_run) => Err(format!(
                "{wrong} outcomes are wrong, {unmet} limits do not apply, {not_run} clients were not run"
            )),
        }
    }

    /// Clients with their versions, in the order in which they ran.
    fn clients(&self) -> Vec<(&str, &str)> {
        let mut clients: Vec<(&str, &str)> = Vec::new();
        for Outcome { client, version, .. } in &self.outcomes {
            if !clients.iter().any(|(name, _)| name == client) {
                clients.push((client, version));
            }
        }
        clients
    }

    /// The section of the page.
    pub(super) fn section(&self) -> String {
        let clients = self.clients();
        let mut text = format!(
            "{TITLE}\n`cargo xtask conformance --clients` writes this section. Each program reads arrays that ndzarr wrote and is\n\
             compared element by element with the formula that they were made by; programs in JavaScript read over\n\
             HTTP with ranges, neuroglancer in Chromium. *yes* = all elements are equal; *no* = an error; *wrong* = other\n\
             values without an error; a dash = not asked. Numbers are limits of the program, below. Arrays with the same\n\
             outcome are one row. Controls, of which a chunk was replaced afterwards, must be wrong, and are.\n\n\
             Programs: {}.\n\n| Arrays |",
            clients.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join("; ")
        );
        clients.iter().for_each(|(name, _)| {
            let _ = write!(text, " {name} |");
        });
        let _ = writeln!(text, "\n|---|{}", "---|".repeat(clients.len()));
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
        let mut arrays: Vec<&str> = Vec::new();
        for outcome in self.outcomes.iter().filter(|outcome| !outcome.is_control()) {
            if !arrays.contains(&&*outcome.array) {
                arrays.push(&outcome.array);
            }
        }
        for array in arrays {
            let mut row = String::new();
            for (client, _) in &clients {
                let found = self.outcomes.iter().find(|it| it.client == *client && it.array == array);
                let _ = write!(row, " {} |", found.map_or("–".to_owned(), |it| word(it, &mut numbers)));
            }
            match rows.iter_mut().find(|(known, _)| *known == row) {
                Some((_, names)) => names.push(array),
                None => rows.push((row, vec![array])),
            }
        }
        for (row, names) in rows {
            let _ = writeln!(text, "| {} |{row}", names.join("; "));
        }
        text.push('\n');
        let mut listed: Vec<(usize, usize)> = numbers.into_iter().map(|(at, number)| (number, at)).collect();
        listed.sort_unstable();
        for (number, at) in listed {
            let Known { clients, says, why, .. } = &limits::TABLE[at];
            let words = if says.is_empty() { String::new() } else { format!(": “{says}”") };
            let _ = writeln!(text, "{number}. {} {why}{words}.", clients.replace('|', ", "));
        }
        text
    }
}

/// How one array came out.
fn word(outcome: &Outcome, numbers: &mut BTreeMap<usize, usize>) -> String {
    let word = match outcome.read {
        Read::Agrees if outcome.detail.is_empty() => return "yes".to_owned(),
        Read::Agrees => return format!("yes, {}", outcome.detail),
        Read::Differs => "wrong",
        Read::Refuses => "no",
    };
    let next = numbers.len() + 1;
    match outcome.known() {
        Some(at) => format!("{word} [{}]", numbers.entry(at).or_insert(next)),
        None => format!("**{word}**"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(client: &str, array: &str, read: &str, detail: &str) -> Outcome {
        Outcome::parse(&serde_json::json!([client, "1", array, read, detail]).to_string())
            .expect("an outcome")
    }

    #[test]
    fn a_control_must_differ() {
        assert!(outcome("xarray", "v2 int16, a chunk replaced", "differs", "").is_right());
        for read in ["agrees", "refuses"] {
            assert!(!outcome("xarray", "v2 int16, a chunk replaced", read, "").is_right(), "{read}");
        }
    }

    #[test]
    fn only_known_limits_are_right() {
        assert!(outcome("xarray", "n5 int8", "refuses", "GroupNotFoundError: No group found").is_right());
        assert!(!outcome("xarray", "v3 int8", "refuses", "GroupNotFoundError: No group found").is_right());
        assert!(!outcome("xarray", "n5 int8", "differs", "GroupNotFoundError: No group found").is_right());
        assert!(!outcome("xarray", "n5 int8", "refuses", "MemoryError").is_right());
    }

    #[test]
    fn a_client_without_outcomes_was_not_run() {
        for outcomes in [Ok(Vec::new()), Err("pip failed".to_owned())] {
            let mut report = Report::default();
            report.add(&["xarray"], outcomes);
            assert_eq!((report.not_run.len(), report.judge().is_err()), (1, true));
        }
        let mut report = Report::default();
        // No control, so nothing shows that it can fail.
        report.add(&["xarray"], Ok(vec![outcome("xarray", "v2 int16", "agrees", "")]));
        assert_eq!(report.not_run.len(), 1);
    }

    #[test]
    fn the_section_ends_where_the_next_begins() {
        let page = format!("# Page\n{TITLE}text\n\n## Next\n");
        assert_eq!(section(&page), Ok(&*format!("{TITLE}text\n")));
        assert!(section("# Page\n").is_err());
    }
}
