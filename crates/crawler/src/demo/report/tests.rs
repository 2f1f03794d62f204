use super::{Directive, Form, RobotReport, Row, print};

fn printed(robots: &[RobotReport], colour: bool) -> String {
    let mut out = Vec::new();
    print(&mut out, robots, Form { colour, details: true }).unwrap();
    String::from_utf8(out).unwrap()
}

fn said(term: &str, found: &str) -> Directive {
    Directive { term: term.to_owned(), found: found.to_owned() }
}

fn skipped(path: &str, line: u32, reason: &str) -> Row {
    Row {
        url: format!("http://www.marys-antiques.com{path}"),
        line: Some(line),
        reason: reason.to_owned(),
        ..Row::default()
    }
}

fn page(path: &str, line: Option<u32>, reason: &str) -> Row {
    let yes = Some(true);
    Row { line, fetched: Some(200), indexed: yes, archived: yes, followed: yes, ..skipped(path, 0, reason) }
}

/// Furniture-Finder at Mary's, by table 9-4, with pages of each fate.
fn finder() -> RobotReport {
    let none = "no rule matches";
    RobotReport {
        robot: "Furniture-Finder/1.0".to_owned(),
        rows: vec![
            page("/", None, none),
            page("/index.html", None, none),
            skipped("/private/payroll.xls", 10, "Disallow: /private"),
            skipped("/private/suzy-stuff/taxes.txt", 10, "Disallow: /private"),
            skipped("/dynamic/buy-stuff?id=3546", 9, "Disallow: /dynamic"),
            page("/dynamic/check-inventory?kitchen", Some(8), "Allow: /dynamic/check-inventory"),
            Row {
                indexed: Some(false),
                archived: Some(false),
                directives: vec![
                    said("noindex", "X-Robots-Tag"),
                    said("noarchive", "X-Robots-Tag for Furniture-Finder"),
                ],
                ..page("/valuation.txt", None, none)
            },
            Row {
                fetched: Some(404),
                indexed: None,
                archived: None,
                followed: None,
                ..page("/harp.html", None, none)
            },
        ],
    }
}

const DETAILS: &str = "
Furniture-Finder/1.0 at www.marys-antiques.com: all URLs it found

  URL                                        indexed  archived  followed  because
  --------------------------------  -------  -------  --------  --------  --------------------------
  /                                 200      yes      yes       yes
  /dynamic/check-inventory?kitchen  200      yes      yes       yes
  /harp.html                        404      -        -         -
  /index.html                       200      yes      yes       yes
  /valuation.txt                    200      no       no        yes       noindex (X-Robots-Tag),
                                                                          noarchive (X-Robots-Tag
                                                                          for Furniture-Finder)
  /dynamic/buy-stuff?id=3546        skipped  -        -         -         line 9: Disallow: /dynamic
  /private/payroll.xls              skipped  -        -         -         line 10: Disallow:
                                                                          /private
  /private/suzy-stuff/taxes.txt     skipped  -        -         -         line 10: Disallow:
                                                                          /private
";

#[test]
fn the_pages_of_a_robot_are_details() {
    let mut short = Vec::new();
    print(&mut short, &[finder()], Form::default()).unwrap();
    let short = String::from_utf8(short).unwrap();
    assert_eq!(printed(&[finder()], false), short.clone() + DETAILS);
    let totals = "Furniture-Finder/1.0: 8 URLs found, 5 fetched, 3 skipped; 3 pages indexed, 3 archived.\n";
    assert!(short.ends_with(totals), "{short}");
}

#[test]
fn robots_txt_is_quoted_before_the_table_that_names_its_lines() {
    let mut nosy = finder();
    nosy.robot = "Nosy-Bot/1.0".to_owned();
    nosy.rows.retain(|row| !row.url.ends_with("/index.html"));
    let text = printed(&[finder(), nosy], false);
    let (introduction, rest) =
        text.split_once("\nMary's Antiques: http://www.marys-antiques.com/robots.txt\n\n").unwrap();
    assert_eq!(introduction.lines().count(), 3, "an introduction of three lines");
    let (quoted, table) = rest.split_once("\n\n").unwrap();
    let site =
        crate::demo::sites::all().into_iter().find(|site| site.host == "www.marys-antiques.com").unwrap();
    let numbered = (1..)
        .zip(site.robots_txt.lines())
        .map(|(number, line)| format!("  {number:>3}  {line}").trim_end().to_owned());
    assert_eq!(quoted.lines().map(str::to_owned).collect::<Vec<_>>(), numbered.collect::<Vec<_>>());
    let expected = "  URL                               Furniture-Finder/1.0  Nosy-Bot/1.0
  --------------------------------  --------------------  -----------------
  /                                 fetched               fetched
  /index.html                       fetched               not found
  /private/payroll.xls              skipped (line 10)     skipped (line 10)
  /private/suzy-stuff/taxes.txt     skipped (line 10)     skipped (line 10)
  /dynamic/buy-stuff?id=3546        skipped (line 9)      skipped (line 9)
  /dynamic/check-inventory?kitchen  fetched (line 8)      fetched (line 8)

";
    assert!(table.starts_with(expected), "{table}");
}

#[test]
fn colour_only_marks_and_is_absent_where_it_is_not_wanted() {
    let (plain, coloured) = (printed(&[finder()], false), printed(&[finder()], true));
    assert!(!plain.contains('\x1b') && coloured.contains("\x1b[31mskipped (line 9)\x1b[0m"));
    let mut stripped = coloured;
    for code in ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m"] {
        stripped = stripped.replace(code, "");
    }
    assert_eq!(stripped, plain);
}

#[test]
fn text_of_a_site_cannot_steer_the_terminal() {
    let mut evil = finder();
    evil.rows[2].reason = "Disallow: /\x1b]0;owned\x07\r\n".to_owned();
    evil.rows[6].directives[0].found = "meta \u{202e}robots\x1b[2J".to_owned();
    evil.rows.push(page("/\x1b[1mx", None, ""));
    let text = printed(&[evil], false);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text:?}");
}

#[test]
fn every_host_has_its_own_tables() {
    let mut both = finder();
    both.rows
        .push(Row { url: "http://www.joes-hardware.com/".to_owned(), ..page("/", None, "no rule matches") });
    let text = printed(&[both], false);
    assert_eq!(text.matches("/robots.txt\n").count(), 2);
    assert_eq!(text.matches(": all URLs it found\n").count(), 2);
    assert_eq!(text.matches("not found").count(), 5, "Joe's other five");
    assert!(printed(&[], false).is_empty());
}
