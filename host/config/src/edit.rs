//! Changes of a person's own `ralph.toml` that leave the rest of it as it is written.

use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use crate::error::ConfigError;
use crate::source::Source;

/// Adds `[plugins.<name>]` with its source and, if given, its digest.
///
/// # Errors
/// The text is no TOML, or has such a plugin.
pub fn add_plugin(
    source: &Source,
    name: &str,
    from: &str,
    sha256: Option<&str>,
) -> Result<String, ConfigError> {
    let mut document = parse(source)?;
    let wrong = |message: String| ConfigError::new(&source.name, message);
    let plugins =
        plugins(&mut document).ok_or_else(|| wrong("`plugins` should be a table".to_owned()))?;
    if plugins.contains_key(name) {
        return Err(wrong(format!("there is a plugin `{name}` already")));
    }
    let mut table = Table::new();
    table.insert("source", value(from));
    if let Some(sha256) = sha256 {
        table.insert("sha256", value(sha256));
    }
    plugins.insert(name, Item::Table(table));
    Ok(document.to_string())
}

/// Takes `[plugins.<name>]` out.
///
/// # Errors
/// The text is no TOML, or has no such plugin.
pub fn remove_plugin(source: &Source, name: &str) -> Result<String, ConfigError> {
    let mut document = parse(source)?;
    let removed = plugins(&mut document).and_then(|plugins| plugins.remove(name));
    match removed {
        Some(_) => Ok(document.to_string()),
        None => Err(ConfigError::new(
            &source.name,
            format!("there is no plugin `{name}` in it"),
        )),
    }
}

/// Puts another digest in the place of the one that `[plugins.<name>]` has; the text as it is if
/// it has none.
///
/// # Errors
/// The text is no TOML.
pub fn set_sha256(source: &Source, name: &str, sha256: &str) -> Result<String, ConfigError> {
    let mut document = parse(source)?;
    let plugin = plugins(&mut document)
        .and_then(|plugins| plugins.get_mut(name))
        .and_then(Item::as_table_like_mut);
    let old = plugin.and_then(|plugin| plugin.get_mut("sha256"));
    if let Some(old) = old.and_then(Item::as_value_mut) {
        let decor = old.decor().clone();
        *old = sha256.into();
        *old.decor_mut() = decor;
    }
    Ok(document.to_string())
}

fn parse(source: &Source) -> Result<DocumentMut, ConfigError> {
    source.check()?;
    source.text.parse().map_err(|e: toml_edit::TomlError| {
        let error = ConfigError::new(&source.name, crate::show::said(e.message()));
        match e.span() {
            Some(span) => error.at(source.position(span.start)),
            None => error,
        }
    })
}

/// The table of plugins, made if need be.
fn plugins(document: &mut DocumentMut) -> Option<&mut dyn TableLike> {
    let plugins = document.entry("plugins").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    plugins.as_table_like_mut()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn source(text: &str) -> Source {
        Source {
            name: "ralph.toml".into(),
            text: text.into(),
        }
    }

    #[test]
    fn what_was_there_stays_as_it_was_written() {
        let before =
            "# mine\n[loop]   # here\nagent='codex'\n\n[[gates]]\nname = \"a\"\nrun = [ 'true' ]\n";
        let after = add_plugin(&source(before), "b", "x.wasm", None).unwrap();
        assert_eq!(
            after,
            format!("{before}\n[plugins.b]\nsource = \"x.wasm\"\n")
        );
        let third = add_plugin(&source(&after), "c", "y.wasm", Some("00")).unwrap();
        assert!(third.starts_with(&after), "{third}");
        assert!(third.ends_with("[plugins.c]\nsource = \"y.wasm\"\nsha256 = \"00\"\n"));
        assert_eq!(remove_plugin(&source(&third), "c").unwrap(), after);
        let changed = set_sha256(&source(&third.replace("\"00\"", "\"00\" # pin")), "c", "11");
        assert_eq!(changed.unwrap(), third.replace("\"00\"", "\"11\" # pin"));
        assert_eq!(set_sha256(&source(&after), "b", "11").unwrap(), after);
        assert_eq!(
            add_plugin(&source(""), "b", "x", None).unwrap(),
            "[plugins.b]\nsource = \"x\"\n"
        );
    }

    #[test]
    fn other_ways_to_write_a_table_are_kept() {
        let inline = "plugins = { a = { source = \"a.wasm\" } }\n";
        let after = add_plugin(&source(inline), "b", "b.wasm", None).unwrap();
        assert!(after.contains("b = { source = \"b.wasm\" }"), "{after}");
        assert_eq!(
            remove_plugin(&source(&after), "b").unwrap().trim_end(),
            inline.trim_end()
        );
        let dotted = "plugins.a.source = \"a.wasm\"\n";
        let after = add_plugin(&source(dotted), "b", "b.wasm", None).unwrap();
        assert!(after.starts_with(dotted), "{after}");
        assert!(toml::from_str::<toml::Table>(&after).is_ok(), "{after}");
    }

    #[test]
    fn what_can_not_be_changed_is_refused() {
        let text = source("[plugins.a]\nsource = \"a\"\n");
        assert!(add_plugin(&text, "a", "b", None).is_err());
        assert!(remove_plugin(&text, "b").is_err());
        assert!(add_plugin(&source("x = "), "a", "b", None).is_err());
        assert!(add_plugin(&source("plugins = 3"), "a", "b", None).is_err());
    }
}
