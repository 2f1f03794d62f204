//! Any text is a config file: what is read can be written, and is the same when it is read again.

#![no_main]

use crawler::config::{CliOverrides, load, read_settings_in_force, settings_in_force};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fuzz::in_small_stack(|| {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), data).expect("it can be written");
        let text = String::from_utf8_lossy(data);
        if let Ok(settings) = read_settings_in_force(&text) {
            let written = settings_in_force(&settings).expect("settings are TOML");
            let again = read_settings_in_force(&written).expect("they can be read");
            assert_eq!(settings_in_force(&again).expect("they are TOML"), written);
        }
        let message =
            load(&CliOverrides::default(), [], Some(file.path())).err().map(|error| error.to_string());
        assert!(message.is_none_or(|message| !message.contains('\u{1b}')));
    });
});
