//! Numbers with units for people.

use crate::gc::record::{KIB, MIB};

/// `358 MiB`, `26.6 MiB`, `512 KiB`, `17 B`.
pub fn bytes(b: u64) -> String {
    let of = |unit: u64, name: &str| {
        let v = b as f64 / unit as f64;
        if v >= 99.95 {
            format!("{v:.0} {name}")
        } else {
            format!("{v:.1} {name}")
        }
    };
    if b >= 1024 * MIB {
        let v = b as f64 / (1024 * MIB) as f64;
        format!("{v:.2} GiB")
    } else if b >= MIB {
        of(MIB, "MiB")
    } else if b >= KIB {
        of(KIB, "KiB")
    } else {
        format!("{b} B")
    }
}

/// `25 %`; `0.3 %` below ten.
pub fn percent(share: f64) -> String {
    let p = share * 100.0;
    if p != 0.0 && p.abs() < 10.0 {
        format!("{p:.1} %")
    } else {
        format!("{p:.0} %")
    }
}

/// `-25 %`, `+40 %`, `-0.3 %`; what rounds to nothing is `unchanged`.
pub fn signed_percent(share: f64) -> String {
    let p = share * 100.0;
    if p.abs() < 0.05 {
        "unchanged".to_owned()
    } else if p.abs() < 1.0 {
        format!("{p:+.1} %")
    } else {
        format!("{p:+.0} %")
    }
}

/// `372,487`: thousands separated.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!(bytes(364_894_624), "348 MiB");
        assert_eq!(bytes(8_408_040), "8.0 MiB");
        assert_eq!(bytes(17), "17 B");
        assert_eq!(bytes(104_857_500), "100 MiB");
        assert_eq!(percent(0.253), "25 %");
        assert_eq!(signed_percent(-0.25), "-25 %");
        assert_eq!(signed_percent(-0.003), "-0.3 %");
        assert_eq!(signed_percent(0.0), "unchanged");
        assert_eq!(grouped(372_487), "372,487");
    }
}
