//! The scenario language: types, diagnostics that point, name ranges, JSON Schema, the part catalog.
