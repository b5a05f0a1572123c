//! Sizes in front of events.

use jfr_format::varint;

/// Appends `body` with its size in front; the size counts itself.
pub(crate) fn put_event(out: &mut Vec<u8>, body: &[u8]) {
    let mut size_len = 1;
    loop {
        let total = (body.len() + size_len) as u64;
        if varint::len_u64(total) <= size_len {
            varint::put_u64(out, total);
            break;
        }
        size_len += 1;
    }
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_counts_itself_at_every_length() {
        for len in [0, 1, 126, 127, 128, 16_380, 16_381, 16_382, 16_383] {
            let mut out = Vec::new();
            put_event(&mut out, &vec![7; len]);
            assert_eq!(varint::get_u64(&out).unwrap().0, out.len() as u64, "{len}");
        }
    }
}
