//! What a page permits, by a header line and two meta tags.

use meta::{Agent, Dialect, MetaTag, Sources, resolve};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let now = "2026-03-01T12:00:00Z".parse()?; // Timestamp::now() in a program
    let headers = [("X-Robots-Tag".to_owned(), "SuperRobot: noarchive".to_owned())];
    let metas = [MetaTag::named("robots", "max-snippet:50, nofollow"), MetaTag::named("otherbot", "noindex")];
    let agent = Agent::new("SuperRobot/1.0");
    let directives = resolve(&Sources { headers: &headers, metas: &metas }, &agent, Dialect::Strict, now);
    println!("index {}, follow {}, archive {}", directives.index, directives.follow, directives.archive);
    for because in &directives.because {
        println!("{because}");
    }
    println!("{:?}", directives.effects());
    Ok(())
}
