//! The lines of a robots.txt that speak of uses of pages.

use meta::consent::ConsentLines;
use robots::Robots;

/// The `Content-Usage` and `Content-Signal` lines of the group that addresses us.
pub(super) fn consent_lines(robots: &Robots) -> ConsentLines {
    ConsentLines::from(robots.signals())
}
