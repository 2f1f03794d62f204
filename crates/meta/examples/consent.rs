//! Whether the pages of a site may be used to train a model, by the lines of its robots.txt.

use meta::consent::{ConsentLines, Policy, Purpose, RobotsSignals};
use robots::{Agent, Options, Robots};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let now = "2026-03-01T12:00:00Z".parse()?; // Timestamp::now() in a program
    let body = b"User-agent: *\nContent-Signal: search=yes, ai-train=no\nContent-Signal: /open/ search=yes, ai-train=yes\nAllow: /\n";
    let robots = Robots::parse(body, &Agent::new("SuperRobot/1.0"), &Options::default(), None);
    let signals = RobotsSignals::new(&ConsentLines::from(robots.signals()));
    let policy = Policy::new([Purpose::Search, Purpose::AiTrain]);
    for path in ["/index.html", "/open/data.html"] {
        let statements = signals.statements(path, now);
        let judged = policy.judge(&statements);
        println!(
            "{path}: training {}, search {}",
            judged.serves(Purpose::AiTrain),
            judged.serves(Purpose::Search)
        );
        for statement in &statements {
            println!("  {}", statement.source);
        }
    }
    Ok(())
}
