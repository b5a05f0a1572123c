//! The ids that every JFR version shares, and the flags of checkpoint events.
//!
//! All other type ids differ by version and file: they come from the metadata.

/// Type id of a metadata event.
pub const METADATA: u64 = 0;

/// Type id of a checkpoint event, which carries constants.
pub const CHECKPOINT: u64 = 1;

/// The type, declared as no event, of the bytes between a live chunk's last event and its end. They may hold an
/// event that is not revealed yet: readers skip them.
pub const FILLER_TYPE: &str = "jfrchains.Filler";

/// The exact super type of every event type. A deeper hierarchy is not recognised by the JDK's reader.
pub const EVENT_SUPER_TYPE: &str = "jdk.jfr.Event";

/// The super type of every annotation type.
pub const ANNOTATION_SUPER_TYPE: &str = "java.lang.annotation.Annotation";

/// The bits of a checkpoint's mask.
pub mod checkpoint_mask {
    /// Written by a flush, not by the end of a chunk.
    pub const FLUSH: u8 = 1;
    /// Holds a chunk header.
    pub const HEADER: u8 = 2;
    /// Holds constants that do not change during the process's life.
    pub const STATICS: u8 = 4;
    /// Holds threads.
    pub const THREADS: u8 = 8;
}
