//! The name of the own recording: the template's text. Pure.

/// Expands `%p` (process id), `%t` (start time, UTC, `2026_11_30_09_43_55`) and `%%`; other text stays.
#[must_use]
pub fn expand(template: &str, pid: u32, time: &str) -> String {
    let mut out = String::with_capacity(template.len() + 16);
    let mut chars = template.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('p') => out.push_str(&pid.to_string()),
            Some('t') => out.push_str(time),
            Some('%') => out.push('%'),
            Some(other) => {
                out.push('%');
                out.push(other);
            }
            None => out.push('%'),
        }
    }
    out
}

/// Seconds since the epoch as `2026_11_30_09_43_55`, UTC.
#[must_use]
pub fn time_text(epoch_secs: u64) -> String {
    let (days, second_of_day) = (epoch_secs / 86_400, epoch_secs % 86_400);
    // Days to a civil date (H. Hinnant's algorithm), for days since 1970 that are not negative.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (
        second_of_day / 3_600,
        second_of_day / 60 % 60,
        second_of_day % 60,
    );
    format!("{year:04}_{month:02}_{day:02}_{hour:02}_{minute:02}_{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_take_the_pid_and_the_time() {
        assert_eq!(expand("/tmp/a-%p-%t.jfr", 42, "T"), "/tmp/a-42-T.jfr");
        assert_eq!(expand("100%%-%x-%", 42, "T"), "100%-%x-%");
    }

    #[test]
    fn times_are_written_as_file_names_can_hold_them() {
        assert_eq!(time_text(0), "1970_01_01_00_00_00");
        assert_eq!(time_text(951_782_400), "2000_02_29_00_00_00");
        assert_eq!(time_text(1_796_031_835), "2026_11_30_09_43_55");
    }
}
