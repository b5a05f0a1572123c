//! Any bytes: every chunk, event, field and constant is read, whatever they say.
#![no_main]

use jfr_chains_analyzer::reader::{Recording, Struct, Value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(recording) = Recording::from_bytes("fuzz.jfr", bytes.to_vec()) else {
        return;
    };
    for chunk in recording.chunks() {
        for event in chunk.events() {
            event.start();
            event.duration();
            visit(&event, 0);
        }
        chunk.constant_count();
        for lost in chunk.skipped().chain(recording.skipped()) {
            assert!(lost.offset <= recording.len(), "{lost}");
        }
    }
});

fn visit(of: &Struct<'_>, depth: u32) {
    for (_, value) in of.fields() {
        match value {
            Ok(Value::Struct(inner)) if depth < 4 => visit(&inner, depth + 1),
            Ok(Value::Array(array)) if depth < 4 => {
                for element in array.iter().filter_map(|element| element.as_struct()) {
                    visit(&element, depth + 1);
                }
            }
            Ok(Value::Text(text)) => drop(text.to_str()),
            _ => {}
        }
    }
}
