//! Names from a recording are whatever an application chose: made harmless before they are shown.

use std::borrow::Cow;

use minijinja::HtmlEscape;

/// `text` without control characters and direction overrides, for terminals: each becomes `\u{..}`.
///
/// A thread may be called `\x1b[2J`; a report must not clear the reader's screen.
pub fn terminal(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hostile(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Whether `c` moves the cursor, starts an escape sequence or reorders the text around it.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// `text` as HTML, each flag of a JVM and `name-of=value` in it in an element of class `flag`, so that no line ends inside it: a browser
/// would break it behind the hyphen. A flag that is longer than a line may go on behind a comma or colon.
pub fn html_with_flags(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    for (at, word) in terminal(text).split(' ').enumerate() {
        if at > 0 {
            out.push(' ');
        }
        let flag = word.trim_start_matches('(');
        let before = word.len() - flag.len();
        let flag = flag.trim_end_matches(['.', ',', ';', ':', ')']);
        let is_option = flag.contains('=') && flag.contains('-');
        if flag.starts_with("-X") || flag.starts_with("-agent") || is_option {
            let (open, rest) = word.split_at(before);
            let close = rest.get(flag.len()..).unwrap_or_default();
            out.push_str(open);
            out.push_str("<span class=\"flag\">");
            let named = flag.strip_prefix("-XX:").map_or(0, |_| "-XX:".len());
            let (dash, name) = flag.split_at(named);
            for (at, part) in name.split_inclusive([',', ':']).enumerate() {
                let (wbr, dash) = if at == 0 { ("", dash) } else { ("<wbr>", "") };
                let part = HtmlEscape(part);
                out.push_str(&format!("{wbr}<span>{dash}{part}</span>"));
            }
            // Inside, or a line could begin with it.
            out.push_str(close);
            out.push_str("</span>");
        } else {
            out.push_str(&HtmlEscape(word).to_string());
        }
    }
    out
}

/// `text` as HTML in which a class name may go on in the next line behind a dot or before a dollar, not in the
/// middle of a word.
pub fn html_with_names(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut before: Option<char> = None;
    let mut part = String::new();
    let text = terminal(text);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let in_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let ends_part = match c {
            '.' => in_name(before) && chars.peek().is_some_and(|c| c.is_alphabetic()),
            _ => in_name(Some(c)) && chars.peek() == Some(&'$'),
        };
        part.push(c);
        before = Some(c);
        if ends_part {
            out.push_str(&format!("{}<wbr>", HtmlEscape(&part)));
            part.clear();
        }
    }
    out.push_str(&HtmlEscape(&part).to_string());
    out
}

/// `text` as an inline code span of Markdown, whatever backticks it contains.
pub fn markdown_code(text: &str) -> String {
    let text = terminal(text);
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    if longest == 0 {
        format!("{fence}{text}{fence}")
    } else {
        format!("{fence} {text} {fence}")
    }
}

/// `text` as running Markdown text: nothing in it is markup, a link or HTML.
pub fn markdown_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in terminal(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '@' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_direction_overrides_become_visible() {
        assert_eq!(terminal("http-1"), "http-1");
        assert_eq!(terminal("\x1b[2Jx"), "\\u{1b}[2Jx");
        assert_eq!(terminal("a\u{202e}b\r\nc"), "a\\u{202e}b\\u{d}\\u{a}c");
    }

    #[test]
    fn a_flag_is_one_element_and_its_neighbours_are_text() {
        assert_eq!(
            html_with_flags("use (-XX:+UseG1GC), or <b>"),
            "use (<span class=\"flag\"><span>-XX:+UseG1GC</span>),</span> or &lt;b&gt;"
        );
        assert_eq!(
            html_with_flags("-Xlog:gc*,gc+age=trace"),
            "<span class=\"flag\"><span>-Xlog:</span><wbr><span>gc*,</span><wbr><span>gc+age=trace</span></span>"
        );
        assert_eq!(html_with_flags("a - b -1"), "a - b -1");
        assert!(!html_with_flags("-X<script>").contains("<script"));
    }

    #[test]
    fn a_class_name_may_go_on_behind_a_dot_or_before_a_dollar_only() {
        assert_eq!(
            html_with_names("java.util.HashMap$Node[] <b> 1.5 s. End"),
            "java.<wbr>util.<wbr>HashMap<wbr>$Node[] &lt;b&gt; 1.5 s. End"
        );
        assert!(!html_with_names("a.<script$>").contains("<script"));
    }

    #[test]
    fn no_name_ends_its_code_span() {
        assert_eq!(markdown_code("a.B"), "`a.B`");
        assert_eq!(markdown_code("a`b"), "`` a`b ``");
        assert_eq!(markdown_code("``"), "``` `` ```");
    }

    #[test]
    fn running_text_is_never_markup() {
        assert_eq!(
            markdown_text("<img src=x> [a](b) | c_d @all"),
            "&lt;img src=x&gt; \\[a\\](b) \\| c\\_d \\@all"
        );
    }
}
