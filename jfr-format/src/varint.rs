//! Compressed integers: seven bits a byte, least significant first, at most nine bytes.
//!
//! The ninth byte carries eight bits, so every 64-bit value fits and no byte sequence is invalid.
//! An `int` is zero-extended from 32 bits before it is written (-1 takes five bytes), a `short` and a
//! `char` from 16; a reader truncates.

/// The longest encoding in bytes.
pub const MAX_LEN: usize = 9;

/// Appends `value`.
pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    let mut rest = value;
    for _ in 0..MAX_LEN - 1 {
        let low = low_byte(rest & 0x7f);
        rest >>= 7;
        if rest == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
    out.push(low_byte(rest));
}

/// Appends a signed long: its 64 bits as they are.
pub fn put_i64(out: &mut Vec<u8>, value: i64) {
    put_u64(out, value.cast_unsigned());
}

/// Appends an int: its 32 bits, zero-extended.
pub fn put_i32(out: &mut Vec<u8>, value: i32) {
    put_u64(out, u64::from(value.cast_unsigned()));
}

/// Appends a short: its 16 bits, zero-extended.
pub fn put_i16(out: &mut Vec<u8>, value: i16) {
    put_u64(out, u64::from(value.cast_unsigned()));
}

/// Bytes that [`put_u64`] appends for `value`.
#[must_use]
pub fn len_u64(value: u64) -> usize {
    let bits = 64 - value.leading_zeros() as usize;
    bits.div_ceil(7).clamp(1, MAX_LEN)
}

/// Reads a value from the start of `bytes`.
///
/// Returns the value and the bytes it took, or `None` when `bytes` ends inside it.
#[must_use]
pub fn get_u64(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (at, &byte) in bytes.iter().take(MAX_LEN).enumerate() {
        if at == MAX_LEN - 1 {
            return Some((value | (u64::from(byte) << 56), MAX_LEN));
        }
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Some((value, at + 1));
        }
    }
    None
}

/// The int that a decoded value stands for: its low 32 bits.
#[must_use]
#[allow(
    clippy::cast_possible_truncation,
    reason = "an int is the low 32 bits by definition"
)]
pub const fn to_i32(value: u64) -> i32 {
    (value as u32).cast_signed()
}

/// The short that a decoded value stands for: its low 16 bits.
#[must_use]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a short is the low 16 bits by definition"
)]
pub const fn to_i16(value: u64) -> i16 {
    (value as u16).cast_signed()
}

/// The char that a decoded value stands for: its low 16 bits, one UTF-16 unit.
#[must_use]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a char is the low 16 bits by definition"
)]
pub const fn to_char_unit(value: u64) -> u16 {
    value as u16
}

/// `value` in exactly `N` bytes (`1..=8`), whatever its magnitude.
///
/// Returns `None` when it needs more than `7 * N` bits.
#[must_use]
pub fn padded<const N: usize>(value: u64) -> Option<[u8; N]> {
    if N == 0 || N >= MAX_LEN || value >> (7 * N) != 0 {
        return None;
    }
    let mut out = [0_u8; N];
    for (at, byte) in out.iter_mut().enumerate() {
        let more = if at + 1 < N { 0x80 } else { 0 };
        *byte = low_byte((value >> (7 * at)) & 0x7f) | more;
    }
    Some(out)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "callers mask to eight bits"
)]
const fn low_byte(value: u64) -> u8 {
    (value & 0xff) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        put_u64(&mut out, value);
        out
    }

    #[test]
    fn the_ninth_byte_carries_eight_bits() {
        assert_eq!(encoded(u64::MAX), [0xff; 9]);
        assert_eq!(
            encoded(1 << 63),
            [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]
        );
        assert_eq!(get_u64(&[0xff; 12]), Some((u64::MAX, 9)));
    }

    #[test]
    fn an_int_is_zero_extended_and_truncated_back() {
        let mut out = Vec::new();
        put_i32(&mut out, -1);
        assert_eq!(out, [0xff, 0xff, 0xff, 0xff, 0x0f]);
        assert_eq!(to_i32(u64::MAX), -1);
        let mut out = Vec::new();
        put_i16(&mut out, -1);
        assert_eq!(out, [0xff, 0xff, 0x03]);
        assert_eq!(to_i16(0xffff_ffff), -1);
    }

    #[test]
    fn a_cut_value_is_none() {
        for cut in 0..9 {
            assert_eq!(get_u64(&encoded(u64::MAX)[..cut]), None);
        }
    }

    #[test]
    fn a_padded_value_reads_back_and_too_large_ones_are_refused() {
        assert_eq!(get_u64(&padded::<4>(5).unwrap()), Some((5, 4)));
        assert_eq!(padded::<4>(1 << 28), None);
        assert_eq!(padded::<1>(128), None);
        assert_eq!(padded::<9>(1), None);
        assert_eq!(get_u64(&padded::<8>(7).unwrap()), Some((7, 8)));
    }

    proptest! {
        #[test]
        fn every_value_reads_back(value: u64, tail: Vec<u8>) {
            let mut bytes = encoded(value);
            let len = bytes.len();
            prop_assert_eq!(len, len_u64(value));
            bytes.extend(tail);
            prop_assert_eq!(get_u64(&bytes), Some((value, len)));
        }
    }
}
