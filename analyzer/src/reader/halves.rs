//! A chunk walked from its start and from its middle at once.

use super::plain::PlainEvents;
use super::resync::Resync;
use super::types::Types;
use super::walk::{Walk, head};

/// Bytes of a chunk from which two halves take less time than one whole.
const SHORTEST: usize = 1 << 10;
/// Bytes behind the middle in which two whole events are looked for.
const NEAR: usize = 1 << 12;
/// Bytes of work to find them.
const WORK: usize = 1 << 16;

/// Walks a chunk without damage in two halves, in turn on one core: what leads from event to event
/// is waiting for a size to be read, and two such waits take no longer than one.
///
/// Whether an event really starts where the second half begins shows when the first comes to its
/// end. `None` if it does not, if there is any damage, if no event was found in the middle or if
/// halves are not worth it: then the chunk has to be walked from its start.
pub(super) fn walk(bytes: &[u8], start: usize, types: &Types<'_>, resync: &Resync) -> Option<Walk> {
    let len = bytes.len().checked_sub(start)?;
    if len < SHORTEST {
        return None;
    }
    let middle = start + len / 2;
    let near = bytes.get(..bytes.len().min(middle + NEAR))?;
    let middle = resync.with_work(WORK).next_event(near, types, middle)?;
    let mut first = Half::new(start, middle, types);
    let mut second = Half::new(middle, bytes.len(), types);
    while !first.plain.is_over() && !second.plain.is_over() {
        PlainEvents::pass_both(
            [&mut first.plain, &mut second.plain],
            bytes,
            types,
            [&mut first.walk.counts, &mut second.walk.counts],
        );
        first.step(bytes, types)?;
        second.step(bytes, types)?;
    }
    let mut walk = first.finish(bytes, types)?;
    walk.join(second.finish(bytes, types)?);
    walk.close(start, bytes.len());
    Some(walk)
}

/// What was found in one half.
struct Half {
    plain: PlainEvents,
    end: usize,
    walk: Walk,
}

impl Half {
    fn new(at: usize, end: usize, types: &Types<'_>) -> Self {
        Self {
            plain: PlainEvents::new(at, end, types.list.len()),
            end,
            walk: Walk::counting(types),
        }
    }

    /// Counts one event with whatever head. `None` at damage.
    fn step(&mut self, bytes: &[u8], types: &Types<'_>) -> Option<()> {
        if self.plain.is_over() {
            return Some(());
        }
        let head = head(bytes, self.plain.at).ok()?;
        self.walk.count(bytes, &head, Some(types));
        self.plain.at = head.end;
        Some(())
    }

    /// Counts the rest. `None` at damage, or when the last event does not end with the half.
    fn finish(mut self, bytes: &[u8], types: &Types<'_>) -> Option<Walk> {
        while !self.plain.is_over() {
            self.plain.pass(bytes, types, &mut self.walk.counts);
            self.step(bytes, types)?;
        }
        self.plain.settle(&mut self.walk.counts);
        (self.plain.at == self.end).then_some(self.walk)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jfr_format::header;

    use super::super::Recording;
    use super::super::chunk::resync;
    use super::super::walk::Head;
    use super::*;

    /// The chunks of a recording that a JVM and the agent wrote.
    fn recording() -> Recording {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/recordings");
        Recording::open(&fixtures.join("orders-part-1.jfr")).unwrap()
    }

    #[test]
    fn two_halves_find_what_one_whole_does() {
        let recording = recording();
        let mut halved = 0;
        for chunk in recording.chunks() {
            let search = resync(chunk.header(), chunk.bytes);
            let whole = Walk::past_damage(chunk.bytes, header::LEN, &chunk.types, search);
            assert!(whole.gaps.is_empty() && whole.total() > 100);
            let halves = walk(chunk.bytes, header::LEN, &chunk.types, &search);
            if let Some(halves) = halves {
                assert_eq!(halves, whole);
                halved += 1;
            }
        }
        assert!(halved > 0, "no chunk was walked in halves");
    }

    #[test]
    fn damage_reads_in_halves_as_in_one_whole_or_not_at_all() {
        let recording = recording();
        let (mut same, mut refused) = (0, 0);
        for chunk in recording.chunks() {
            // One in three hundred bytes, and every bit in turn.
            for (nth, at) in (header::LEN..chunk.bytes.len()).step_by(293).enumerate() {
                let mut bytes = chunk.bytes.to_vec();
                bytes[at] ^= 1 << (nth % 8);
                let search = resync(chunk.header(), &bytes);
                match walk(&bytes, header::LEN, &chunk.types, &search) {
                    // A byte inside an event, or one that leads to other events without a gap.
                    Some(halves) => {
                        let whole = Walk::past_damage(&bytes, header::LEN, &chunk.types, search);
                        assert_eq!(halves, whole, "bit {} of byte {at}", nth % 8);
                        same += 1;
                    }
                    None => refused += 1,
                }
            }
        }
        assert!(same > 100 && refused > 5, "{same} same, {refused} refused");
    }
    #[test]
    fn a_second_half_that_the_first_does_not_lead_to_is_not_taken() {
        let recording = recording();
        let mut swallowed = 0;
        for chunk in recording.chunks() {
            let heads: Vec<Head> =
                std::iter::successors(head(chunk.bytes, header::LEN).ok(), |h| {
                    head(chunk.bytes, h.end).ok()
                })
                .collect();
            // Every beginning of the chunk has another middle.
            for last in heads.iter().filter(|last| last.end > SHORTEST) {
                let mut bytes = chunk.bytes[..last.end].to_vec();
                let middle = header::LEN + (bytes.len() - header::LEN) / 2;
                let at = heads.partition_point(|head| head.at < middle);
                let [before, second] = [at - 1, at].map(|at| heads[at]);
                let counted = |head: &Head| chunk.types.event_index(head.type_id).is_some();
                let Ok(size @ 3..0x80) = u8::try_from(second.end - before.at) else {
                    continue;
                };
                if ![before, second].iter().all(counted) {
                    continue;
                }
                let search = resync(chunk.header(), &bytes);
                let halves = |bytes: &[u8]| walk(bytes, header::LEN, &chunk.types, &search);
                let Some(sound) = halves(&bytes) else {
                    continue;
                };
                // An event that takes in the one in the middle: no gap, but no event starts there either.
                bytes[before.at] = size;
                let whole = Walk::past_damage(&bytes, header::LEN, &chunk.types, search);
                assert_eq!((whole.total() + 1, whole.gaps.len()), (sound.total(), 0));
                assert_eq!(halves(&bytes), None);
                swallowed += 1;
            }
        }
        assert!(
            swallowed > 0,
            "no beginning has two short events in its middle"
        );
    }
}
