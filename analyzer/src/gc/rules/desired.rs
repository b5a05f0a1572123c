//! Survivor and desired sizes from the flags, as each collector derives them.

use crate::gc::record::KIB;

/// Generation alignment of Serial and ParNew, in bytes.
const GEN_ALIGNMENT: u64 = 64 * KIB;
/// Space alignment of Parallel, in bytes.
const PARALLEL_ALIGNMENT: u64 = 512 * KIB;

/// `TargetSurvivorRatio` unless the input says otherwise, in percent.
pub const DEFAULT_TARGET_SURVIVOR_RATIO: u64 = 50;
/// `SurvivorRatio` unless the input says otherwise.
pub const DEFAULT_SURVIVOR_RATIO: u64 = 8;

/// One survivor space of Serial or ParNew in bytes, for a young generation of `young` bytes
/// (eden and both survivor spaces) and a `SurvivorRatio`.
pub fn survivor(young: u64, ratio: u64) -> u64 {
    aligned(young / ratio.saturating_add(2).max(1), GEN_ALIGNMENT)
}

/// One survivor space of Parallel before adaptive sizing moves it.
pub fn parallel_survivor(young: u64, ratio: u64) -> u64 {
    aligned(young / ratio.saturating_add(2).max(1), PARALLEL_ALIGNMENT)
}

/// Desired survivor size of Serial or ParNew in bytes; `target` is `TargetSurvivorRatio` in percent.
pub fn desired(survivor: u64, target: u64) -> u64 {
    percent(survivor, target)
}

/// Survivor regions G1 allows for a young target of `regions`.
pub fn g1_survivor_regions(regions: u64, ratio: u64) -> u64 {
    regions.div_ceil(ratio.max(1))
}

/// Desired survivor size of G1 in bytes for a young target of `regions` regions.
pub fn g1_desired(regions: u64, ratio: u64, region_bytes: u64, target: u64) -> u64 {
    percent(
        g1_survivor_regions(regions, ratio).saturating_mul(region_bytes),
        target,
    )
}

/// The survivor space a printed desired size stands for; `None` unless it is aligned as one must be.
pub fn survivor_of(desired: u64, target: u64) -> Option<u64> {
    let survivor = desired.checked_mul(100)?.checked_div(target)?;
    (survivor > 0 && survivor.is_multiple_of(GEN_ALIGNMENT)).then_some(survivor)
}

/// The `SurvivorRatio` that cuts `survivor` bytes out of `young`; `None` when none does.
pub fn ratio_of(young: u64, survivor_bytes: u64) -> Option<u64> {
    let guess = (young / survivor_bytes.max(1)).saturating_sub(2);
    (guess.saturating_sub(1)..=guess.saturating_add(1))
        .find(|ratio| *ratio > 0 && survivor(young, *ratio) == survivor_bytes)
}

fn percent(bytes: u64, share: u64) -> u64 {
    u64::try_from(u128::from(bytes) * u128::from(share) / 100).unwrap_or(u64::MAX)
}

fn aligned(bytes: u64, to: u64) -> u64 {
    bytes - bytes % to
}

#[cfg(test)]
mod tests {
    use super::*;

    const YOUNG: u64 = 4096 << 20;

    #[test]
    fn the_governing_case_has_the_printed_sizes() {
        assert_eq!(survivor(YOUNG, 8), 419_392 * KIB);
        assert_eq!(desired(survivor(YOUNG, 8), 50), 214_728_704);
        assert_eq!(desired(survivor(YOUNG, 3), 50), 429_490_176);
        assert_eq!(ratio_of(YOUNG, 419_392 * KIB), Some(8));
        assert_eq!(survivor_of(214_728_704, 50), Some(419_392 * KIB));
    }

    #[test]
    fn serial_parallel_and_g1_sizes_match_real_runs() {
        assert_eq!(desired(survivor(400 << 20, 9), 50), 19_038_208);
        assert_eq!(parallel_survivor(400 << 20, 9), 37_748_736);
        assert_eq!(g1_desired(60, 8, 1 << 20, 50), 4_194_304);
        assert_eq!(g1_desired(400, 8, 1 << 20, 50), 26_214_400);
    }
}
