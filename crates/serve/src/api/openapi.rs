//! The description of the interface for programs, in OpenAPI 3.1. The tests of the program hold every address of it to what
//! it describes.

/// The description.
pub(crate) const TEXT: &str = include_str!("openapi.json");

#[cfg(test)]
mod tests {
    use super::TEXT;
    use std::collections::BTreeSet;

    /// The addresses that are answered are those that are described.
    #[test]
    fn every_address_is_described() {
        let api: serde_json::Value = serde_json::from_str(TEXT).expect("JSON");
        let described: BTreeSet<&str> =
            api["paths"].as_object().expect("paths").keys().map(String::as_str).collect();
        let routes = include_str!("mod.rs");
        let answered: BTreeSet<&str> = routes
            .lines()
            .filter_map(|line| line.trim().strip_prefix(".route(\"")?.split('"').next())
            .filter(|path| path.starts_with("/api/v1/") && !path.ends_with("openapi.json"))
            .collect();
        assert_eq!(described, answered);
    }
}
