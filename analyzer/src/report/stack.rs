//! A stack as lines: short, and never without the first frame of application code.

use super::units;
use crate::model::Frame;
use crate::model::noise::is_jdk_class;

/// Frames that are shown.
const SHOWN: usize = 8;
/// Frames of the JDK that are shown before a gap.
const JDK_SHOWN: usize = 3;

/// One line of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A frame.
    Frame(String),
    /// Frames that are not shown.
    Gap(String),
}

/// The lines of `stack`, innermost first.
pub fn lines(stack: &[Frame]) -> Vec<Line> {
    let ours = stack.iter().position(|frame| !is_jdk_class(&frame.class));
    let mut out = Vec::new();
    let start = match ours {
        Some(ours) if ours >= SHOWN => {
            out.extend(stack.iter().take(JDK_SHOWN).map(|f| Line::Frame(words(f))));
            let hidden = (ours - JDK_SHOWN) as u64;
            out.push(Line::Gap(format!(
                "... {}",
                units::counted(hidden, "frame of the JDK", "frames of the JDK")
            )));
            ours
        }
        _ => 0,
    };
    let room = SHOWN - out.len();
    let rest = stack.get(start..).unwrap_or_default();
    out.extend(rest.iter().take(room).map(|f| Line::Frame(words(f))));
    if rest.len() > room {
        let more = units::count((rest.len() - room) as u64);
        out.push(Line::Gap(format!("... {more} more")));
    }
    out
}

/// `at com.acme.Handler.handle:42`.
fn words(frame: &Frame) -> String {
    let line = frame
        .line
        .map_or_else(String::new, |line| format!(":{line}"));
    let class = named(&frame.class);
    format!("at {class}.{}{line}", frame.method)
}

/// The class without the numbers of a hidden class, which differ from run to run.
pub fn named(class: &str) -> &str {
    let end = match class.find("$$Lambda") {
        Some(at) => Some(at + "$$Lambda".len()),
        None => class.find("+0x").or_else(|| class.find("/0x")),
    };
    end.and_then(|end| class.get(..end)).unwrap_or(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(jdk: usize, ours: usize) -> Vec<Frame> {
        let frame = |class: &str| Frame {
            class: class.to_owned(),
            method: "m".to_owned(),
            line: Some(1),
        };
        let jdk = (0..jdk).map(|_| frame("java.util.X"));
        jdk.chain((0..ours).map(|_| frame("com.acme.Y"))).collect()
    }

    #[test]
    fn the_first_application_frame_is_always_shown() {
        for jdk in 0..40 {
            let lines = lines(&stack(jdk, 3));
            let ours = Line::Frame("at com.acme.Y.m:1".to_owned());
            assert!(lines.contains(&ours), "{jdk}: {lines:?}");
            assert!(lines.len() <= SHOWN + 1);
        }
    }

    #[test]
    fn frames_that_are_left_out_are_counted() {
        let lines = lines(&stack(20, 9));
        assert_eq!(lines[3], Line::Gap("... 17 frames of the JDK".to_owned()));
        assert_eq!(lines.last(), Some(&Line::Gap("... 5 more".to_owned())));
    }

    #[test]
    fn hidden_class_numbers_are_not_shown() {
        assert_eq!(named("a.B$$Lambda$7/0x00007f1094004208"), "a.B$$Lambda");
        assert_eq!(
            named("java.lang.invoke.LambdaForm$MH+0x00007fe87400b800/759359213"),
            "java.lang.invoke.LambdaForm$MH"
        );
        assert_eq!(named("a.B$C"), "a.B$C");
    }
}
