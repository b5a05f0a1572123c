//! Any bytes as the body of the one metadata event of an otherwise sound chunk.
#![no_main]

use jfr_chains_analyzer::reader::{Header, Recording, State};
use jfr_format::{header, varint};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let mut event = vec![0];
    event.extend_from_slice(body);
    let Some(size) = varint::padded::<4>(event.len() as u64 + 4) else {
        return;
    };
    // An event of every small type id follows, so that what was declared is used.
    let mut rest = size.to_vec();
    rest.extend(event);
    for id in 2..40 {
        rest.extend([24, id, 232, 7, 1, 2, 3, 1, 0, 3, 2, 104, 105, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    let chunk = Header {
        major: 2,
        minor: 1,
        size: i64::try_from(header::LEN + rest.len()).unwrap_or(0),
        checkpoint: 0,
        metadata: 68,
        start_nanos: 1_700_000_000_000_000_000,
        duration_nanos: 1,
        start_ticks: 1_000,
        ticks_per_second: 1_000_000_000,
        state: State::Finished,
        flags: 1,
    };
    let mut bytes = chunk.to_bytes().to_vec();
    bytes.extend(rest);
    let Ok(recording) = Recording::from_bytes("fuzz.jfr", bytes) else {
        return;
    };
    for chunk in recording.chunks() {
        for declared in chunk.types().iter() {
            declared.label();
            assert!(declared.fields().iter().all(|field| declared.position(field.name()).is_some()));
        }
        for event in chunk.events() {
            let _ = event.verify();
        }
    }
});
