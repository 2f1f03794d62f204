//! A host that begins to challenge: what is said of its answers, and what follows for it.

use walls::{Answer, Streak, classify};

fn main() {
    let page = "<title>Owls</title><h1>Owls</h1><p>Nine kinds live in the valley.</p>";
    let wall = "<title>Just a moment...</title><script>window._cf_chl_opt={};</script>";
    let mut streak = Streak::default();
    let answers =
        [("/a", 200, page), ("/b", 403, wall), ("/c", 403, wall), ("/d", 403, wall), ("/e", 403, wall)];
    for (number, (path, status, body)) in (0..).zip(answers) {
        let url = format!("https://site.example{path}");
        let headers = [("content-type", "text/html".as_bytes())];
        let verdict = classify(&Answer::new(status, &url).with_headers(headers).with_body(body.as_bytes()));
        let decision = streak.observe(&verdict, number);
        println!("{path}: {}, pause {:?}, end {:?}", verdict.outcome, decision.pause, decision.end);
    }
}
