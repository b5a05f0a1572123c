//! Text folded into columns without losing a letter: the one way in which text outputs wrap.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that every text output keeps to: what a terminal has at least, also over SSH.
pub const WIDTH: usize = 80;

/// `text` in lines of at most `width` columns, the first behind `first`, the others behind `rest`.
///
/// Flags and paths stay whole, whatever their length: people copy them. A class name goes to the next line before
/// it is divided; one that is longer than a line is divided behind a dot or before a dollar, and never cut.
pub fn fold(text: &str, first: &str, rest: &str, width: usize) -> Vec<String> {
    let mut lines = Lines {
        done: Vec::new(),
        line: first.to_owned(),
        has_word: false,
        rest,
        width,
    };
    let mut spaces = 0;
    for word in glued(text) {
        if word.is_empty() {
            spaces += 1;
            continue;
        }
        lines.add(spaces, word);
        spaces = 1;
    }
    lines.done.push(lines.line);
    lines.done
}

/// The words of `text`; a number and its unit are one.
fn glued(text: &str) -> impl Iterator<Item = &str> {
    const UNITS: [&str; 14] = [
        "B", "KiB", "MiB", "GiB", "TiB", "ns", "us", "ms", "s", "min", "h", "d", "%", "x",
    ];
    let is_unit = |word: &str| {
        let word = word.trim_end_matches(['.', ',', ';', ':', ')']);
        UNITS.contains(&word.strip_suffix("/h").unwrap_or(word))
    };
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let left = rest?;
        let (word, mut after) = left
            .split_once(' ')
            .map_or((left, None), |(w, a)| (w, Some(a)));
        let mut end = word.len();
        if word.ends_with(|c: char| c.is_ascii_digit()) {
            let unit = after.and_then(|after| after.split(' ').next());
            if let Some(unit) = unit.filter(|unit| is_unit(unit)) {
                end += 1 + unit.len();
                after = left.get(end..).and_then(|rest| rest.strip_prefix(' '));
            }
        }
        rest = after;
        left.get(..end)
    })
}

struct Lines<'r> {
    done: Vec<String>,
    line: String,
    /// Whether the line has more than its indent.
    has_word: bool,
    rest: &'r str,
    width: usize,
}

impl Lines<'_> {
    /// Columns that are free behind so many spaces.
    fn room(&self, spaces: usize) -> usize {
        self.width.saturating_sub(self.line.width() + spaces)
    }

    fn push(&mut self, spaces: usize, text: &str) {
        self.line.extend(std::iter::repeat_n(' ', spaces));
        self.line.push_str(text);
        self.has_word = true;
    }

    fn end_line(&mut self) {
        let next = self.rest.to_owned();
        self.done.push(std::mem::replace(&mut self.line, next));
        self.has_word = false;
    }

    fn add(&mut self, mut spaces: usize, mut word: &str) {
        loop {
            if !self.has_word {
                spaces = 0;
            }
            let room = self.room(spaces);
            if word.width() <= room {
                return self.push(spaces, word);
            }
            let kept_whole = word.starts_with('-') || word.contains('/') && !word.contains('$');
            let fits_a_line = self.rest.width() + word.width() <= self.width;
            let at = if self.has_word {
                (!kept_whole && !fits_a_line)
                    .then(|| dot(word, room))
                    .flatten()
            } else {
                (!kept_whole).then(|| boundary(word, room)).flatten()
            };
            match at.and_then(|at| word.split_at_checked(at)) {
                Some((head, tail)) => {
                    self.push(spaces, head);
                    self.end_line();
                    word = tail;
                }
                None if self.has_word => self.end_line(),
                None => return self.push(0, word),
            }
        }
    }
}

/// The byte position behind the last dot within `room` columns of `name`, not at its end.
fn dot(name: &str, room: usize) -> Option<usize> {
    within(name, room)
        .filter(|(_, c)| matches!(c, '.' | ','))
        .map(|(at, c)| at + c.len_utf8())
        .last()
        .filter(|at| *at < name.len())
}

/// Where to divide `name` so that the first part fits `room` columns: a byte position inside it; `None` when not
/// one character fits.
fn boundary(name: &str, room: usize) -> Option<usize> {
    let last = within(name, room).map(|(at, c)| at + c.len_utf8()).last()?;
    let dollar = name.get(..=last).unwrap_or(name).rfind('$');
    // Behind the half: else a line would hold next to nothing.
    let far = |at: &usize| at * 2 > last;
    let dot = dot(name, room);
    dot.filter(far)
        .or(dollar.filter(far))
        .or(dot)
        .or(Some(last))
        .filter(|at| *at > 0 && *at < name.len())
}

/// The characters of `name` that fit `room` columns, with their byte positions.
fn within(name: &str, room: usize) -> impl Iterator<Item = (usize, char)> {
    let mut columns = 0;
    name.char_indices().take_while(move |(_, c)| {
        columns += c.width().unwrap_or(0);
        columns <= room
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LONG: &str = "com.acme.enterprise.shop.orders.persistence.hibernate.interceptors.\
                        TransactionalOrderRepositoryFactoryBean$CachedDelegate";

    #[test]
    fn a_name_that_fits_a_line_of_its_own_is_not_divided() {
        let name = "com.acme.enterprise.shop.orders.persistence.OrderRepository";
        let text = format!("held by the static field {name}");
        assert_eq!(
            fold(&text, "   ", "   ", 64),
            [
                "   held by the static field".to_owned(),
                format!("   {name}")
            ]
        );
    }

    #[test]
    fn a_longer_name_is_divided_behind_a_dot_or_before_a_dollar() {
        let lines = fold(LONG, "  ", "    ", 80);
        assert_eq!(
            lines,
            [
                "  com.acme.enterprise.shop.orders.persistence.hibernate.interceptors.",
                "    TransactionalOrderRepositoryFactoryBean$CachedDelegate"
            ]
        );
        let lines = fold(
            "TransactionalOrderRepositoryFactoryBean$CachedDelegate",
            "",
            "  ",
            40,
        );
        assert_eq!(
            lines,
            [
                "TransactionalOrderRepositoryFactoryBean",
                "  $CachedDelegate"
            ]
        );
    }

    #[test]
    fn a_name_that_is_divided_begins_where_the_line_has_room() {
        assert_eq!(
            fold(&format!("1. {LONG} grows"), "", "   ", 80),
            [
                "1. com.acme.enterprise.shop.orders.persistence.hibernate.interceptors.",
                "   TransactionalOrderRepositoryFactoryBean$CachedDelegate grows"
            ]
        );
    }

    #[test]
    fn a_number_keeps_its_unit() {
        assert_eq!(
            fold("over 1 min 12 s, 3.5 GiB/h (5 %) and 7 times", "", "", 12),
            ["over 1 min", "12 s,", "3.5 GiB/h", "(5 %) and 7", "times"]
        );
        assert_eq!(fold("a  b 1", "", "", 20), ["a  b 1"]);
    }

    #[test]
    fn a_flag_and_a_path_are_never_divided() {
        for word in [
            "-XX:+UnlockDiagnosticVMOptions",
            "/var/tmp/some.folder/leak.jfr",
        ] {
            let lines = fold(&format!("try {word} here"), "", "", 12);
            assert_eq!(lines, ["try", word, "here"]);
        }
    }

    proptest! {
        #[test]
        fn no_letter_is_lost_and_names_fit(
            names in proptest::collection::vec("[a-zA-Z.$]{1,120}", 1..6),
            width in 20_usize..90,
        ) {
            let text = names.join(" ");
            let lines = fold(&text, "  ", "      ", width);
            let plain = |text: &str| text.replace(' ', "");
            prop_assert_eq!(plain(&lines.concat()), plain(&text));
            prop_assert!(lines.iter().all(|line| !line.trim().is_empty()));
            for line in &lines {
                prop_assert!(line.width() <= width, "{line}");
            }
        }
    }
}
