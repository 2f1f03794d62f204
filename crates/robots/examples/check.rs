//! Checks URLs against a robots.txt file: `cargo run --example check -- robots.txt SuperRobot/1.0 /a /b?c`.

use std::error::Error;

use robots::{Agent, Options, Robots};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let body = std::fs::read(args.next().ok_or("usage: check FILE USER-AGENT URL...")?)?;
    let agent = Agent::new(&args.next().unwrap_or_default());
    let robots = Robots::parse(&body, &agent, &Options::default(), None);
    for url in args {
        println!("{url}: {}", robots.verdict(&url));
    }
    for warning in robots.warnings() {
        println!("{warning}");
    }
    Ok(())
}
