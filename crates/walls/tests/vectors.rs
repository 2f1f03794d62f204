//! Answers of walls and of pages that look alike: `data/answers.jsonl`, one a line, each with its source.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::Value;
use walls::{Answer, Asked, RobotsReading, Verdict, classify, robots_reading};

/// The verdict of a line.
fn verdict(row: &Value) -> (Verdict, u16) {
    let status = u16::try_from(row["status"].as_u64().unwrap()).unwrap();
    let headers = row["headers"].as_array().unwrap().iter();
    let headers = headers.map(|field| (field[0].as_str().unwrap(), field[1].as_str().unwrap().as_bytes()));
    let asked = if row["path"] == "robots.txt" { Asked::Robots } else { Asked::Page };
    let answer = Answer::new(status, row["url"].as_str().unwrap())
        .with_headers(headers)
        .with_body(row["body"].as_str().unwrap().as_bytes())
        .to(asked);
    (classify(&answer), status)
}

#[test]
fn every_answer_is_what_it_is() {
    let mut count = 0;
    let mut bad = Vec::new();
    for line in include_str!("data/answers.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let expected = &row["expected"];
        let (verdict, status) = verdict(&row);
        let outcome = verdict.outcome.name();
        let mut right = vec![expected["outcome"].as_str().unwrap()];
        right.extend(expected["also"].as_array().into_iter().flatten().filter_map(Value::as_str));
        let confidence = match (verdict.is_certain(), &verdict.suspect) {
            (true, _) => "certain",
            (false, Some(_)) => "likely",
            (false, None) => "none",
        };
        let is_robots = row["path"] == "robots.txt";
        let mut is_right = confidence == expected["confidence"];
        if is_robots {
            let readings: Vec<_> = expected["robots"].as_array().unwrap().iter().collect();
            let is_one = |name: &str| readings.iter().any(|reading| *reading == name);
            is_right &= match robots_reading(&verdict, status) {
                RobotsReading::Defer => is_one("defer"),
                RobotsReading::ClosedByWall => is_one("closed") && is_one("defer"),
                RobotsReading::AsItIs => {
                    is_one("rules") || is_one("open") || is_one("closed") && !is_one("defer")
                }
            };
        } else {
            is_right &= right.contains(&outcome);
        }
        let suspect = verdict.suspect.map(|suspect| suspect.outcome.name());
        is_right &= suspect == expected["suspect"].as_str();
        if let Some(vendor) = expected["vendor"].as_str().filter(|_| !is_robots) {
            is_right &= verdict.vendor == Some(vendor);
        }
        if !is_right {
            bad.push(format!("{} {}: {expected}, not {verdict:?}", row["id"], row["why"]));
        }
        count += 1;
    }
    assert!(bad.is_empty(), "{} of {count}:\n{}", bad.len(), bad.join("\n"));
    assert_eq!(count, 104);
}
