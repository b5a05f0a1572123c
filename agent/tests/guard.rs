//! The guard's latch is the process's: its test has a process of its own.

use jfr_chains_agent::jvm::guard;

#[test]
fn a_panic_is_caught_latched_and_makes_later_bodies_inert() {
    guard::install_hook();
    assert_eq!(guard::guarded(1, || 2), 2);
    assert!(!guard::panicked());
    assert_eq!(guard::guarded(1, || panic!("on purpose")), 1);
    assert!(guard::panicked());
    let mut ran = false;
    guard::guarded((), || ran = true);
    assert!(!ran, "nothing runs after a panic");
    guard::guarded_always((), || ran = true);
    assert!(ran, "but the end does");

    // A payload that panics when it is dropped is never dropped.
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    guard::guarded_always((), || std::panic::panic_any(Bomb));
}
