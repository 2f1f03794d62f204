//! Any text is the content of a JSON-LD block, and any bytes a `tdmrep.json`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use meta::consent::tdm::TdmFile;

fuzz_target!(|data: &[u8]| {
    fuzz::in_small_stack(|| {
        let body = [b"<script type=\"application/ld+json\">", data, b"</script><title>t</title>"].concat();
        fuzz::read_page("text/html", &body);
        let file = TdmFile::parse(data);
        assert!(file.memory() <= 200 * data.len() + 4096);
        let says = file.lookup("/a/b?c");
        assert!(says.is_none_or(|says| says.reservation.is_none_or(|bit| bit <= 1)));
    });
});
