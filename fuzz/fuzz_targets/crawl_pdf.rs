//! Any bytes are a PDF file, which is read in a process of its own: this program, called again as the crawler calls itself. Whatever happens to
//! that process, it ends by itself, and this one goes on; a process that ends well has written text.

#![no_main]

use std::fs::File;
use std::io::{Seek, Write};
use std::process::{Command, Stdio, exit};

use crawler::search::{PDF_ARGUMENT, read_pdf};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: {
        if std::env::args().nth(1).is_some_and(|argument| argument == PDF_ARGUMENT) {
            exit(read_pdf());
        }
    },
    |data: &[u8]| {
        let mut file: File = tempfile::tempfile().expect("a file");
        file.write_all(data).and_then(|()| file.rewind()).expect("it can be written");
        let program = std::env::current_exe().expect("this program");
        let read = Command::new(program)
            .arg(PDF_ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(file))
            .stderr(Stdio::null())
            .output()
            .expect("it can be started");
        if read.status.success() {
            assert!(std::str::from_utf8(&read.stdout).is_ok());
        }
    }
);
