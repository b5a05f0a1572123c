//! Renderers: values in, text out; they judge nothing.

pub mod html;
pub mod json;
pub mod markdown;
pub mod plot;
pub mod table;
pub mod text;
pub mod units;
