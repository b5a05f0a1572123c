//! A series of points that stays small however long the recording is.

/// Points that are kept at most; plots are narrower.
const CAPACITY: usize = 2_048;

/// Points in order of time; when full, every second one goes and fewer are taken from then on.
///
/// The newest point is always kept. What survives depends only on the points, not on the clock.
#[derive(Clone, Debug)]
pub struct Series<T> {
    points: Vec<T>,
    newest: Option<T>,
    stride: u64,
    seen: u64,
}

impl<T> Default for Series<T> {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            newest: None,
            stride: 1,
            seen: 0,
        }
    }
}

impl<T: Clone> Series<T> {
    /// Adds a point that is later than all before.
    pub fn push(&mut self, point: T) {
        if self.seen.is_multiple_of(self.stride) {
            self.points.push(point.clone());
        }
        self.newest = Some(point);
        self.seen += 1;
        if self.points.len() > CAPACITY {
            let mut at = 0_usize;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// Adds all points of a later series.
    pub fn append(&mut self, later: Self) {
        for point in later.into_vec() {
            self.push(point);
        }
    }

    /// The points, the newest one last.
    pub fn into_vec(mut self) -> Vec<T> {
        let last_is_kept = self.seen == 0 || (self.seen - 1).is_multiple_of(self.stride);
        if let Some(newest) = self.newest
            && !last_is_kept
        {
            self.points.push(newest);
        }
        self.points
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.seen == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_series_are_kept_whole() {
        let mut series = Series::default();
        (0..100).for_each(|i| series.push(i));
        assert_eq!(series.into_vec(), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn long_series_stay_small_in_order_and_keep_both_ends() {
        let mut series = Series::default();
        (0..1_000_000).for_each(|i| series.push(i));
        let points = series.into_vec();
        assert!(points.len() <= CAPACITY + 1, "{}", points.len());
        assert!(points.is_sorted());
        assert_eq!((points.first(), points.last()), (Some(&0), Some(&999_999)));
    }
}
