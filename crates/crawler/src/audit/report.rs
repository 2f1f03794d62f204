//! The audit's report as text: one line per check, then the violations in full.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{Check, LISTED, Report};
use page::clean::clean;
use page::quantity;

impl Check {
    /// Cases that can't be judged, because what they depend on isn't stored.
    fn not_checked(&self) -> u64 {
        self.unchecked.values().sum()
    }
}

impl Report {
    /// Writes the report for people, 100 columns or so. Untrusted text is sanitised.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let width = self.checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
        writeln!(out, "{:width$}  {:>10}  {:>12}  verdict", "check", "judged", "min. margin")?;
        for check in &self.checks {
            let margin = check.margin_s.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:+.3} s"));
            let mut verdict = match (&check.unjudged, check.violations) {
                (Some(why), _) => format!("not judged: {why}"),
                (None, 0) => "ok".to_owned(),
                (None, many) => format!("VIOLATED {}", quantity::count(many, "time")),
            };
            if check.lost > 0 {
                let _ = write!(verdict, "; {} can't be judged after the repair", check.lost);
            }
            if check.unbound > 0 {
                let _ = write!(
                    verdict,
                    "; {} can't be judged, their digests aren't in the ledger",
                    check.unbound
                );
            }
            if !check.unchecked.is_empty() {
                let reasons = check.unchecked.iter().map(|(reason, count)| format!("{reason} {count}"));
                let reasons = reasons.collect::<Vec<_>>().join(", ");
                let _ = write!(verdict, "; {} not checked: {reasons}", check.not_checked());
            }
            writeln!(out, "{:width$}  {:>10}  {margin:>12}  {verdict}", check.name, check.judged)?;
        }
        for check in self.checks.iter().filter(|check| check.violations > 0) {
            writeln!(out, "\n{}: {}", check.name, check.promise)?;
            for violation in &check.first {
                let at = violation.at.map(|at| format!("{at:.3}  ")).unwrap_or_default();
                writeln!(out, "  {at}{}\n    {}", clean(&violation.subject), clean(&violation.what))?;
            }
            if check.violations > check.first.len() as u64 {
                writeln!(
                    out,
                    "  and {} more; the first {LISTED} are listed",
                    check.violations - check.first.len() as u64
                )?;
            }
        }
        let broken = self.violations();
        let unjudged = self.checks.iter().filter(|check| check.unjudged.is_some()).count();
        let lost: u64 = self.checks.iter().map(|check| check.lost).sum();
        writeln!(out)?;
        let not_checked = |name: &str| {
            self.checks.iter().filter(|check| check.name == name).map(Check::not_checked).sum::<u64>()
        };
        let [words, digests, links] =
            ["archived_words", "archived_digests", "archived_links"].map(not_checked);
        if words + digests + links > 0 {
            writeln!(
                out,
                "Not checked again, because bodies aren't stored or were truncated: directives of {}, digests of {}, links of {}.",
                quantity::count(words, "page"),
                quantity::count(digests, "page"),
                quantity::count(links, "page"),
            )?;
        }
        match (broken, unjudged) {
            (0, 0) if lost > 0 => {
                writeln!(
                    out,
                    "No violations; {} can't be judged after the repair.",
                    quantity::count(lost, "case")
                )
            }
            (0, 0) => writeln!(out, "No violations."),
            (0, some) => {
                writeln!(out, "No violations; {} couldn't be judged.", quantity::count(some as u64, "check"))
            }
            (many, _) => writeln!(out, "{}.", quantity::count(many, "violation")),
        }
    }
}
