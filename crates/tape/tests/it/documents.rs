//! The conformance tables in the documentation are those of the code. `UPDATE_DOCS=1 cargo test -p tape documents` rewrites them.

use tape::{SMC_3, SSC_3, table};

#[test]
fn documents_the_tables_are_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tape.md");
    let found = std::fs::read_to_string(path).expect("a page");
    let mut current = found.clone();
    for (name, commands) in [("SSC-3", SSC_3), ("SMC-3", SMC_3)] {
        let begin = format!("<!-- {name} -->\n");
        let (head, rest) = current.split_once(&begin).expect("a beginning");
        let (_, tail) = rest.split_once("<!-- end -->").expect("an end");
        current = format!("{head}{begin}{}<!-- end -->{tail}", table(commands));
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, current).expect("a page");
    } else {
        assert!(found == current, "docs/tape.md is stale: UPDATE_DOCS=1 cargo test -p tape");
    }
}
