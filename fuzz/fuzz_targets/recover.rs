//! Whatever is recovered reads back with the same number of events and nothing to skip.
#![no_main]

use jfr_chains_analyzer::reader::Recording;
use jfr_chains_analyzer::recover::recover;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(recording) = Recording::from_bytes("fuzz.jfr", bytes.to_vec()) else {
        return;
    };
    let mut whole = Vec::new();
    let Ok(recovered) = recover(&recording, &mut whole) else {
        return;
    };
    if recovered.chunks == 0 {
        assert!(whole.is_empty());
        return;
    }
    let again = Recording::from_bytes("whole.jfr", whole).expect("what was written opens");
    assert_eq!(again.chunk_count() as u64, recovered.chunks);
    let mut events = 0;
    for chunk in again.chunks() {
        events += chunk.event_count();
        assert!(chunk.events().all(|event| event.verify().is_ok()));
    }
    assert_eq!(events, recovered.events);
    assert!(again.skipped().is_empty());
});
