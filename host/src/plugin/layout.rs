//! abi_stable's layout report, cut down to the field that differs.
//!
//! The report prints each type on the way to a difference in full, some hundred lines for one argument. A block of it
//! that matters looks like this, and only its field names, its error, and what was expected and found are kept:
//!
//! ```text
//! 1 error(s)inside:
//!     field_name:on_tick
//!     …
//!     field_name:param_1
//!     …
//! Layout of expected type:
//!     …
//! Error:mismatched type
//! Expected:
//!     *const World
//! Found:
//!     u64
//! ```
#![forbid(unsafe_code)]

/// Longer types are cut.
const LONGEST: usize = 120;

/// `on_tick.param_1: mismatched type: expected *const World, found u64 (and 2 more differences)`.
pub(super) fn summary(report: &str) -> String {
    let mut differences = Vec::new();
    let mut path = Vec::new();
    let mut in_path = false;
    let mut lines = report.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if line.contains("error(s)") {
            (path, in_path) = (Vec::new(), true);
        } else if line.starts_with("Layout of expected type") {
            // The fields of the printed types are not on the way.
            in_path = false;
        } else if let Some(name) = line.strip_prefix("field_name:").filter(|_| in_path) {
            path.push(name.to_owned());
        } else if let Some(error) = line.strip_prefix("Error:") {
            let mut part = |header: &str| {
                if lines.next_if(|line| line.trim() == header).is_none() {
                    return String::new();
                }
                let mut text = Vec::new();
                while let Some(line) = lines.next_if(|line| line.starts_with(char::is_whitespace)) {
                    text.push(line.trim());
                }
                shorten(&text.join(" "))
            };
            let (expected, found) = (part("Expected:"), part("Found:"));
            differences.push(format!("{}: {error}: expected {expected}, found {found}", field(&path)));
        }
    }
    match differences.as_slice() {
        [] => shorten(&report.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")),
        [only] => only.clone(),
        [first, more @ ..] => {
            format!("{first} (and {} more difference{})", more.len(), if more.len() == 1 { "" } else { "s" })
        }
    }
}

/// The way from the table on: without the root module's function that returns it, and without what pointers point to,
/// which abi_stable calls fields as well.
fn field(path: &[String]) -> String {
    let from_table = path.iter().position(|name| name == "__returns").map_or(path, |at| &path[at + 1..]);
    let names: Vec<_> = from_table.iter().filter(|name| name.parse::<u32>().is_err()).map(String::as_str).collect();
    if names.is_empty() { "the table".into() } else { names.join(".") }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "Compared <this>:\n    --- Type Layout ---\n    field_name:0\nTo <other>:\n\n0 error(s).\n
0 error(s)inside:
    <other>

    field_name:0
    type:PluginRoot

Layout of expected type:
    field_name:plugin


1 error(s)inside:
    <other>

    field_name:0
    type:PluginRoot

    field_name:plugin
    type:AFunctionPointer

    field_name:__returns
    type:*const PluginTable 

    field_name:0
    type:PluginTable

    field_name:on_tick
    type:Option<AFunctionPointer>

    field_name:param_1
    type:u64

Layout of expected type:
    --- Type Layout ---
    field_name:0

Error:mismatched type
Expected:
    *const World 
Found:
    u64
";

    #[test]
    fn the_field_that_differs_is_kept() {
        assert_eq!(summary(REPORT), "on_tick.param_1: mismatched type: expected *const World, found u64");
        let twice = format!(
            "{REPORT}\n1 error(s)inside:\n    field_name:0\n\nError:mismatched size\nExpected:\n    168\nFound:\n    176\n"
        );
        assert_eq!(
            summary(&twice),
            "on_tick.param_1: mismatched type: expected *const World, found u64 (and 1 more difference)"
        );
    }

    #[test]
    fn another_report_is_kept_in_short() {
        assert_eq!(summary("the layout\n  check panicked\n"), "the layout check panicked");
        assert!(summary(&"x".repeat(5000)).len() < 130);
    }
}
