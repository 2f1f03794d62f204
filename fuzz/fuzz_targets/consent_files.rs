//! Any bytes are an `ai.txt` and a `tdmrep.json`, and any text a line about consent in robots.txt.

#![no_main]

use libfuzzer_sys::fuzz_target;
use meta::Agent;
use meta::consent::AiTxt;
use meta::consent::tdm::TdmFile;

fuzz_target!(|data: &[u8]| {
    fuzz::in_small_stack(|| {
        let now = jiff::Timestamp::UNIX_EPOCH;
        let file = TdmFile::parse(data);
        // Of two equal questions the answers are equal, and a bit is 0 or 1.
        assert_eq!(file.lookup("/a?b"), TdmFile::parse(data).lookup("/a?b"));
        assert!(file.lookup("/a?b").is_none_or(|says| says.reservation.is_none_or(|bit| bit <= 1)));
        let ai = AiTxt::parse(data, &Agent::new("examplebot"));
        assert_eq!(ai.statement("/a?b", now), ai.statement("/a?b", now));
    });
});
