//! Paths in a configuration stay below the project's root.

use crate::show;

/// What is wrong with a path that should be relative to the project's root.
pub(crate) fn problem(path: &str) -> Option<String> {
    let shown = show::name(path);
    let bytes = path.as_bytes();
    let drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    let what = if path.trim().is_empty() {
        return Some("an empty path".to_owned());
    } else if path.starts_with(['/', '\\']) || drive {
        "is absolute; write it relative to the project's root"
    } else if path == "~" || path.starts_with("~/") {
        "begins with `~`, which is not expanded; paths are relative to the project's root"
    } else if path.contains('\\') {
        "has a backslash; write `/`"
    } else if path.split('/').any(|part| part == "..") {
        "has `..`; paths stay below the project's root"
    } else if path.chars().any(char::is_control) {
        "has control characters"
    } else if parts(path).next() == Some(".git") {
        "is inside `.git`, which is git's own"
    } else {
        return None;
    };
    Some(format!("the path {shown} {what}"))
}

/// As [`problem`], for what a plugin may touch: ralph's own directory is not among it.
pub(crate) fn grant_problem(path: &str) -> Option<String> {
    problem(path).or_else(|| {
        (parts(path).next() == Some(".ralph")).then(|| {
            format!(
                "the path {} is inside `.ralph`, which no plugin may touch",
                show::name(path)
            )
        })
    })
}

/// What is wrong with a path that may lead anywhere: absolute, `~/…`, or relative to the root.
pub(crate) fn outside_problem(path: &str) -> Option<String> {
    let shown = show::name(path);
    let what = if path.trim().is_empty() {
        return Some("an empty path".to_owned());
    } else if path.starts_with('~') && path != "~" && !path.starts_with("~/") {
        "begins with `~` and a name; only `~/` is expanded"
    } else if path.split('/').any(|part| part == "..") {
        "has `..`; write where it leads"
    } else if path.chars().any(char::is_control) {
        "has control characters"
    } else {
        return None;
    };
    Some(format!("the path {shown} {what}"))
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_may_be_given_paths_anywhere() {
        for good in ["/opt/x", "~", "~/x", "data", "a/b", "."] {
            assert_eq!(outside_problem(good), None, "{good}");
        }
        for bad in ["", " ", "~tess/x", "../x", "/a/../b", "a\nb"] {
            assert!(outside_problem(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn only_paths_below_the_root_pass() {
        for good in [
            ".",
            "src",
            "./src",
            "a/b.c",
            "a/..b",
            ".github",
            ".ralph/PRD.md",
            "été",
            "a b",
            "-x",
        ] {
            assert_eq!(problem(good), None, "{good}");
        }
        for bad in [
            "",
            " ",
            "/etc",
            "../x",
            "a/../../x",
            "..",
            "a/..",
            "~",
            "~/x",
            "C:/x",
            "c:\\x",
            "a\\b",
            "\\\\h\\s",
            ".git",
            "./.git/hooks",
            ".//.git",
            "a\nb",
            "a\0",
        ] {
            assert!(problem(bad).is_some(), "{bad:?}");
        }
        assert!(grant_problem(".ralph").is_some() && grant_problem("./.ralph/x").is_some());
        assert_eq!(grant_problem("."), None);
    }
}
