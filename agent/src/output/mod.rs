//! Where events go: the own file, when there is one.

mod file;
mod place;

pub use file::FileOutput;
pub use place::{expand, time_text};
