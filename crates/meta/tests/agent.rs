//! One agent for robots.txt, page directives and `/ai.txt`.

use jiff::Timestamp;
use meta::consent::AiTxt;
use meta::{Agent, Dialect, MetaTag, Sources, resolve};
use robots::{Options, Robots};

#[test]
fn names_with_digits_mean_the_same_robot_everywhere() {
    let rows = [
        // Our name, the name that is written, whether it is ours.
        ("My2Bot/1.0", "my2bot", true),
        ("My2Bot/1.0", "My2Bot/3.1", true),
        ("My2Bot/1.0", "my3bot", false),
        ("360Spider", "360spider", true),
        ("008/0.83", "008", true),
        ("008/0.83", "009", false),
        ("MJ12bot/v1.4.8", "mj12BOT", true),
        ("bot2.0/1.0", "bot2.0", true),
        ("bot2.0/1.0", "bot2.1", false),
        ("R\u{d6}BOT/1.0", "r\u{f6}bot", true),
        ("R\u{d6}BOT/1.0", "r\u{e4}bot", false),
    ];
    let now = Timestamp::UNIX_EPOCH;
    for (ours, written, want) in rows {
        let agent = Agent::new(ours);
        // A group that opens what `*` closes is for its own robot alone.
        let file = format!("User-agent: {written}\nAllow: /\n\nUser-agent: *\nDisallow: /\n");
        let robots = Robots::parse(file.as_bytes(), &agent, &Options::default(), None);
        assert_eq!(robots.verdict("/x").allowed, want, "{ours} {written}");
        let name = written.split('/').next().map(str::to_owned);
        let metas = [MetaTag { name, content: Some("noindex".to_owned()), ..MetaTag::default() }];
        let directives = resolve(&Sources { headers: &[], metas: &metas }, &agent, Dialect::Strict, now);
        assert_eq!(!directives.index, want, "{ours} {written}");
        let ai_txt = AiTxt::parse(format!("User-agent: {written}\nDisallow: /\n").as_bytes(), &agent);
        assert_eq!(ai_txt.statement("/x", now).is_some(), want, "{ours} {written}");
    }
}
