//! A simulated JVM around the engine: heap, mutators, collector, clock. Deterministic by seed.
//!
//! ```
//! use chain_core::sim::{Sim, shapes::SHAPES};
//! let mut sim = Sim::builder(1).fillers(10_000).leak(SHAPES[0]).build();
//! sim.run_until_seconds(60);
//! assert!(sim.timeline().contains("chain"));
//! ```

pub mod frontier;
pub mod heap;
pub mod mutator;
pub mod paths;
pub mod rng;
pub mod shapes;
pub mod tally;
pub mod trace;
pub mod visited;
pub mod walk;
mod world;

pub use mutator::{Life, Mutator};
pub use world::{Builder, GcModel, Sim};
