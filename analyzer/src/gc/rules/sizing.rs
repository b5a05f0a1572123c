//! The flag that would have kept a cohort young, and what it costs.

use super::desired;
use crate::gc::record::Collection;
use crate::gc::record::Collector;

/// Head room of desired over the bytes it must hold, in percent.
/// Source: the specification, "Promoted bytes".
const HEAD_ROOM_PERCENT: u64 = 110;

/// What must fit and what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Bytes at all ages that should stay: the whole table, not age 1 alone.
    pub survivors: u64,
    /// Survivor bytes lost to buffers on top, as observed.
    pub waste: u64,
}

impl Need {
    /// What desired must reach.
    pub fn desired(self) -> u64 {
        u64::try_from(u128::from(self.survivors) * u128::from(HEAD_ROOM_PERCENT) / 100)
            .unwrap_or(u64::MAX)
    }
}

/// Today's layout of the young generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Young {
    /// Who lays it out.
    pub collector: Collector,
    /// Eden and all survivor spaces, in bytes.
    pub bytes: u64,
    /// `SurvivorRatio` in effect.
    pub ratio: u64,
    /// `TargetSurvivorRatio` in effect, in percent.
    pub target: u64,
    /// G1 region size, in bytes; one elsewhere.
    pub region: u64,
}

/// A `SurvivorRatio` and what it gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// `SurvivorRatio`.
    pub ratio: u64,
    /// One survivor space, or all survivor regions, in bytes.
    pub survivor: u64,
    /// Desired survivor size, in bytes.
    pub desired: u64,
    /// Eden, in bytes.
    pub eden: u64,
    /// Eden against today's, as a share: -0.25 is a quarter less.
    pub eden_change: f64,
}

impl Young {
    /// The layout at another `SurvivorRatio`.
    pub fn at(&self, ratio: u64) -> Layout {
        let (survivor, desired, eden) = self.parts(ratio);
        let (_, _, today) = self.parts(self.ratio);
        Layout {
            ratio,
            survivor,
            desired,
            eden,
            eden_change: if today == 0 {
                0.0
            } else {
                eden as f64 / today as f64 - 1.0
            },
        }
    }

    fn parts(&self, ratio: u64) -> (u64, u64, u64) {
        match self.collector {
            Collector::G1 => {
                let regions = self.bytes / self.region.max(1);
                let survivor = desired::g1_survivor_regions(regions, ratio) * self.region;
                (
                    survivor,
                    desired::g1_desired(regions, ratio, self.region, self.target),
                    self.bytes.saturating_sub(survivor),
                )
            }
            Collector::Parallel => {
                let survivor = desired::parallel_survivor(self.bytes, ratio);
                (survivor, survivor, self.bytes.saturating_sub(2 * survivor))
            }
            _ => {
                let survivor = desired::survivor(self.bytes, ratio);
                (
                    survivor,
                    desired::desired(survivor, self.target),
                    self.bytes.saturating_sub(2 * survivor),
                )
            }
        }
    }

    /// Whether today's layout keeps `need` young: then no size is to blame and none cures.
    pub fn holds_already(&self, need: Need) -> bool {
        self.holds(&self.at(self.ratio), need)
    }

    /// The largest `SurvivorRatio` below today's that keeps `need` young; `None` when today's does, or when none
    /// does and the young generation itself must grow.
    pub fn ratio_for(&self, need: Need) -> Option<Layout> {
        if self.holds_already(need) {
            return None;
        }
        (1..self.ratio)
            .rev()
            .map(|ratio| self.at(ratio))
            .find(|l| self.holds(l, need))
    }

    /// Whether a layout keeps `need` young.
    pub fn holds(&self, layout: &Layout, need: Need) -> bool {
        layout.desired >= need.desired()
            && layout.survivor >= need.survivors.saturating_add(need.waste)
    }

    /// The young generation, in whole MiB, that keeps `need` young at today's `SurvivorRatio`.
    pub fn size_for(&self, need: Need) -> u64 {
        let mib = 1u64 << 20;
        let survivor = match self.collector {
            Collector::Parallel => need.desired(),
            _ => need
                .desired()
                .saturating_mul(100)
                .div_ceil(self.target.max(1)),
        }
        .max(need.survivors.saturating_add(need.waste));
        let parts = match self.collector {
            Collector::G1 => self.ratio,
            _ => self.ratio.saturating_add(2),
        };
        // One alignment unit more, so that rounding down cannot undo it.
        survivor
            .saturating_add(mib.max(self.region))
            .saturating_mul(parts)
            .div_ceil(mib)
            .saturating_mul(mib)
    }
}

/// The young layout that `r` shows; `None` where the input does not carry it.
///
/// `ratio` and `target` are flags where known; otherwise the ratio is inferred from the sizes and the
/// target is the default.
pub fn layout(r: &Collection, ratio: Option<u64>, target: Option<u64>) -> Option<Young> {
    let target = target.unwrap_or(desired::DEFAULT_TARGET_SURVIVOR_RATIO);
    match r.collector {
        Collector::G1 => {
            let region = r.region_bytes?;
            let survivor = desired_regions(r, target, region)?;
            let ratio = ratio.unwrap_or(desired::DEFAULT_SURVIVOR_RATIO);
            let bytes = r.young_total.unwrap_or_else(|| {
                // The survivor limit is ceil(target / ratio): eden may have ended before its target, or gone
                // beyond it.
                let most = survivor.saturating_mul(ratio);
                let least = survivor.saturating_sub(1).saturating_mul(ratio) + 1;
                young_regions(r)
                    .map_or(most, |regions| regions.max(least).min(most))
                    .saturating_mul(region)
            });
            Some(Young {
                collector: r.collector,
                bytes,
                ratio,
                target,
                region,
            })
        }
        Collector::Serial | Collector::ParNew | Collector::Parallel => {
            let survivor = r.survivor_cap.or_else(|| match r.collector {
                Collector::Parallel => r.desired,
                _ => desired::survivor_of(r.desired?, target),
            })?;
            let bytes = match r.young_total {
                Some(total) => total,
                None => r.young?.cap?.saturating_add(survivor),
            };
            let ratio = ratio
                .or_else(|| desired::ratio_of(bytes, survivor))
                .unwrap_or_else(|| (bytes / survivor.max(1)).saturating_sub(2).max(1));
            Some(Young {
                collector: r.collector,
                bytes,
                ratio,
                target,
                region: 1,
            })
        }
        _ => None,
    }
}

/// Young regions in use when `r` started, the target it had.
fn young_regions(r: &Collection) -> Option<u64> {
    let eden = r.regions.eden?.before;
    Some(eden.saturating_add(r.regions.survivor.map_or(0, |s| s.before)))
}

/// Survivor regions that the printed desired size stands for.
fn desired_regions(r: &Collection, target: u64, region: u64) -> Option<u64> {
    if let Some(limit) = r.regions.survivor.and_then(|s| s.limit) {
        return Some(limit);
    }
    let bytes = r.desired?.checked_mul(100)?.checked_div(target)?;
    bytes.checked_div(region)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn governing() -> Young {
        Young {
            collector: Collector::ParNew,
            bytes: 4096 << 20,
            ratio: 8,
            target: 50,
            region: 1,
        }
    }

    #[test]
    fn the_governing_case_needs_ratio_three_and_gives_a_quarter_of_eden() {
        let need = Need {
            survivors: 364_894_624,
            waste: 18_213 << 10,
        };
        let layout = governing().ratio_for(need).unwrap();
        assert_eq!(layout.ratio, 3);
        assert_eq!(layout.desired, 429_490_176);
        assert!(
            (layout.eden_change + 0.25).abs() < 0.001,
            "{}",
            layout.eden_change
        );
    }

    #[test]
    fn a_need_beyond_any_ratio_asks_for_a_larger_young_generation() {
        let need = Need {
            survivors: 3 << 30,
            waste: 0,
        };
        assert_eq!(governing().ratio_for(need), None);
        let larger = Young {
            bytes: governing().size_for(need),
            ..governing()
        };
        assert!(larger.holds(&larger.at(8), need));
    }

    #[test]
    fn a_need_that_fits_today_is_no_reason_to_change_a_flag() {
        let need = Need {
            survivors: 100 << 20,
            waste: 0,
        };
        assert!(governing().holds_already(need));
        assert_eq!(governing().ratio_for(need), None);
    }

    #[test]
    fn g1_counts_regions() {
        let young = Young {
            collector: Collector::G1,
            bytes: 60 << 20,
            ratio: 8,
            target: 50,
            region: 1 << 20,
        };
        let need = Need {
            survivors: 9 << 20,
            waste: 0,
        };
        let layout = young.ratio_for(need).unwrap();
        // 60 regions x 1 MiB x 50 % / (100 x 9.9 MiB) = 3.03
        assert_eq!(layout.ratio, 3);
        assert_eq!(layout.desired, 10 << 20);
    }
}
