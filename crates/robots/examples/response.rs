//! What a response to GET /robots.txt permits, and for how long.

use robots::access::{History, Outcome, Policy, ResponseHead, judge};
use robots::{Agent, Options, Robots};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let now = "2026-03-01T12:00:00Z".parse()?; // Timestamp::now() in a program
    let (agent, options) = (Agent::new("SuperRobot/1.0"), Options::default());
    let body = b"User-agent: *\nDisallow: /private\n";
    for status in [200, 404, 403, 503] {
        let headers = [("Content-Type", "text/plain"), ("Cache-Control", "max-age=3600")];
        let robots = Robots::from_response(status, headers, body, &agent, &options);
        println!("{status}: {}", robots.verdict("/private/notes.html"));

        let outcome = Outcome::Answer { head: ResponseHead::new(status, headers), body };
        let judged = judge(&outcome, &History::default(), &Policy::default(), now);
        println!("     {:?} for {:?}: {}", judged.access, judged.lifetime, judged.reason);
    }
    Ok(())
}
