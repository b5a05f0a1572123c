//! Arithmetic over records, apart from the dialects that read them.

pub mod cause;
pub mod desired;
pub mod promoted;
pub mod sizing;
pub mod threshold;
