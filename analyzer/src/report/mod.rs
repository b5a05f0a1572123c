//! Renderers: each prints a [`Report`](crate::model::Report), none analyses.

pub mod advice;
pub mod fold;
pub mod html;
pub mod json;
pub mod markdown;
pub mod path;
pub mod safe;
#[cfg(test)]
pub(crate) mod sample;
pub mod stack;
#[cfg(test)]
mod tests;
pub mod text;
pub mod units;
pub mod words;
