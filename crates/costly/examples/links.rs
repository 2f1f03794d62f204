//! What is done about the links of a forge.

use costly::{Judge, KindError, Kinds, Link, Month, PageSigns, Site, Standing, Switches, recognise};

fn main() -> Result<(), KindError> {
    let kinds = Kinds::embedded()?;
    let page = PageSigns {
        url: "https://git.example/org/tool",
        generators: &[],
        headers: &[("set-cookie", "i_like_gitea=1; Path=/")],
        markup: "",
    };
    let mut site = Site::default();
    site.add(recognise(&page, &kinds));
    let judge = Judge { kinds: &kinds, switches: &Switches::default(), now: Month { year: 2026, month: 11 } };
    for path in
        ["/org/tool/issues/5", "/org/tool/blame/branch/main/a.c", "/org/tool?utm_source=x", "/user/logout"]
    {
        let url = format!("https://git.example{path}");
        let judged = judge.judge(
            &Link { url: &url, page: Some(page.url), standing: Standing::Found },
            Some(&site),
            |_| false,
        );
        let reason = judged.reason.map_or_else(String::new, |reason| reason.to_string());
        println!("{path}: {:?} {reason}", judged.action);
    }
    Ok(())
}
