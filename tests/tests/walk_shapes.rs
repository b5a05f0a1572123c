//! The concurrent walk tells every leak shape's expected root and chain, on a JVM that checks every JNI call.
//!
//! The walk is asked directly, through `walk_probe`, so a shape takes a second; that the whole agent finds the shapes
//! by itself is another test's business.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Collector, Jdk, Shape, shapes, skip};

fn check(jdk: &Jdk, shape: &Shape) -> Result<(), String> {
    shape.check_walk(shape.walk(jdk, Collector::G1, "hash")?)
}

fn all_shapes_on(feature: u32, test: &str) {
    let Some(jdk) = Jdk::feature(feature) else {
        return skip(test, &format!("JDK {feature}"));
    };
    let wrong: Vec<String> = shapes()
        .unwrap()
        .iter()
        .filter(|shape| shape.leaf().is_some() && shape.jdk <= feature)
        .filter_map(|shape| {
            let error = check(&jdk, shape).err()?;
            Some(format!("shape {} ({}): {error}", shape.id, shape.what))
        })
        .collect();
    assert!(wrong.is_empty(), "JDK {feature}: {}", wrong.join("\n"));
}

#[test]
fn every_shape_is_told_with_its_root_and_chain_on_17() {
    all_shapes_on(17, "every_shape_is_told_with_its_root_and_chain_on_17");
}

#[test]
fn every_shape_is_told_with_its_root_and_chain_on_25() {
    all_shapes_on(25, "every_shape_is_told_with_its_root_and_chain_on_25");
}
