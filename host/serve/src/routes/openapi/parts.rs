//! What the document is put together of.

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

pub(super) struct Document {
    pub(super) generator: SchemaGenerator,
    pub(super) paths: Map<String, Value>,
}

/// One operation.
pub(super) struct Operation<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) id: &'a str,
    pub(super) says: &'a str,
    /// What else than 401, 403 and 429 may be answered.
    pub(super) problems: &'a [u16],
}

impl Document {
    pub(super) fn reference<T: JsonSchema>(&mut self) -> Value {
        self.generator.subschema_for::<T>().to_value()
    }

    /// Members of a type, as parameters of a query.
    pub(super) fn query<T: JsonSchema>(&mut self) -> Vec<Value> {
        let schema: Schema = T::json_schema(&mut self.generator);
        let members = schema.get("properties").and_then(Value::as_object);
        members
            .into_iter()
            .flatten()
            .map(|(name, schema)| {
                let mut schema = schema.clone();
                let says = schema.get("description").cloned();
                // In a query there is no null.
                let null = schema["type"].as_array().cloned();
                if let Some(kind) = null.and_then(|t| t.first().cloned()) {
                    schema["type"] = kind;
                }
                if let Some(some) = schema["anyOf"].get(0).cloned() {
                    schema = some;
                }
                if let Some(members) = schema.as_object_mut() {
                    members.remove("default");
                    members.remove("description");
                }
                json!({ "name": name, "in": "query", "description": says, "schema": schema })
            })
            .collect()
    }

    pub(super) fn add(
        &mut self,
        op: &Operation<'_>,
        parameters: Vec<Value>,
        body: Option<(Value, bool)>,
        answers: Value,
    ) {
        let mut parameters = parameters;
        for name in ["id", "slug", "path"] {
            if op.path.contains(&format!("{{{name}}}")) {
                parameters.push(json!({
                    "name": name, "in": "path", "required": true, "schema": { "type": "string" },
                }));
            }
        }
        let open = matches!(op.path, "/healthz" | "/readyz" | "/openapi.json");
        let usual: &[u16] = if open { &[] } else { &[401, 403, 429] };
        let mut responses = answers;
        for status in usual.iter().chain(&[403, 500, 503]).chain(op.problems) {
            responses[status.to_string()] = json!({ "$ref": "#/components/responses/Problem" });
        }
        let mut operation = json!({
            "operationId": op.id, "summary": op.says, "parameters": parameters, "responses": responses,
        });
        if open {
            operation["security"] = json!([]);
        }
        if let Some((schema, required)) = body {
            operation["requestBody"] = json!({
                "required": required, "content": { "application/json": { "schema": schema } },
            });
        }
        let path = self.paths.entry(op.path.to_owned()).or_insert(json!({}));
        path[op.method] = operation;
    }
}

pub(super) fn answer(status: &str, says: &str, kind: &str, schema: Value) -> Value {
    json!({ status: { "description": says, "content": { kind: { "schema": schema } } } })
}
