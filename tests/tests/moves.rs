#[test]
fn x() { let _ = jsonschema::is_valid(&serde_json::json!({}), &serde_json::json!({})); }
