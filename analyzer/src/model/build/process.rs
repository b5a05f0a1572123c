//! Events about the process itself: which JVM it is, and memory outside the Java heap.

use super::series::Series;
use super::source::{text, time};
use crate::model::{EpochNanos, FloorPoint, Jvm};
use crate::reader::Event;

/// What any recording of a JVM says about its process.
#[derive(Debug, Default)]
pub struct ProcessFacts {
    /// The JVM.
    pub jvm: Jvm,
    /// Heap used after each collection.
    pub floor: Series<FloorPoint>,
    /// Resident memory of the process.
    pub resident: Series<(EpochNanos, u64)>,
    /// Memory of direct buffers.
    pub direct: Series<(EpochNanos, u64)>,
    /// Metaspace in use.
    pub metaspace: Series<(EpochNanos, u64)>,
    /// The setting `cutoff` of `jdk.OldObjectSample`.
    pub old_object_cutoff: Option<String>,
}

impl ProcessFacts {
    /// Takes one event; types that say nothing here are ignored.
    pub fn event(&mut self, event: &Event<'_>, at: EpochNanos) {
        let bytes = |name: &str| event.i64(name).and_then(|n| u64::try_from(n).ok());
        match event.name() {
            "jdk.JVMInformation" => {
                let jvm = &mut self.jvm;
                jvm.name = text(event, "jvmName");
                jvm.version = text(event, "jvmVersion");
                jvm.pid = event.i64("pid").filter(|pid| *pid > 0);
                jvm.started = event.time("jvmStartTime").map(time);
                jvm.java_arguments = text(event, "javaArguments");
            }
            "jdk.GCConfiguration" => {
                let young = text(event, "youngCollector");
                let old = text(event, "oldCollector");
                self.jvm.collector = collector(young.as_deref(), old.as_deref());
            }
            "jdk.GCHeapConfiguration" => self.jvm.max_heap_bytes = bytes("maxSize"),
            "jdk.GCHeapSummary" => {
                let after = event.text("when").is_some_and(|when| when == *"After GC");
                if let Some(used) = bytes("heapUsed")
                    && after
                {
                    self.floor.push(FloorPoint {
                        time: at,
                        used_bytes: used,
                        max_bytes: None,
                        jvm: 0,
                    });
                }
            }
            "jdk.ResidentSetSize" => {
                if let Some(size) = bytes("size") {
                    self.resident.push((at, size));
                }
            }
            "jdk.DirectBufferStatistics" => {
                if let Some(used) = bytes("memoryUsed") {
                    self.direct.push((at, used));
                }
            }
            "jdk.MetaspaceSummary" => {
                let used = event.get("metaspace.used").and_then(|value| value.as_i64());
                if let Some(used) = used.and_then(|used| u64::try_from(used).ok()) {
                    self.metaspace.push((at, used));
                }
            }
            "jdk.ActiveSetting" => self.setting(event),
            _ => {}
        }
    }

    fn setting(&mut self, event: &Event<'_>) {
        if event.text("name").is_none_or(|name| name != *"cutoff") {
            return;
        }
        let of = event.i64("id");
        let sampled = event.chunk().types().by_name("jdk.OldObjectSample");
        if sampled.map(|declared| declared.id()) == of {
            self.old_object_cutoff = text(event, "value");
        }
    }

    /// Adds what later chunks say.
    pub fn append(&mut self, later: Self) {
        let jvm = &mut self.jvm;
        jvm.name = jvm.name.take().or(later.jvm.name);
        jvm.version = jvm.version.take().or(later.jvm.version);
        jvm.pid = jvm.pid.or(later.jvm.pid);
        jvm.started = jvm.started.or(later.jvm.started);
        jvm.java_arguments = jvm.java_arguments.take().or(later.jvm.java_arguments);
        jvm.collector = jvm.collector.take().or(later.jvm.collector);
        jvm.max_heap_bytes = jvm.max_heap_bytes.or(later.jvm.max_heap_bytes);
        self.floor.append(later.floor);
        self.resident.append(later.resident);
        self.direct.append(later.direct);
        self.metaspace.append(later.metaspace);
        self.old_object_cutoff = self.old_object_cutoff.take().or(later.old_object_cutoff);
    }
}

/// The collector's usual name from the names of its two halves.
fn collector(young: Option<&str>, old: Option<&str>) -> Option<String> {
    let usual = match (young, old) {
        (Some("G1New"), _) | (_, Some("G1Old")) => "G1",
        (Some("ParallelScavenge"), _) => "Parallel",
        (Some("DefNew"), _) => "Serial",
        (Some("ParNew"), _) => "CMS",
        (_, Some(old)) if old.contains("Shenandoah") => "Shenandoah",
        (Some(young), _) if young.contains("ZGC") => "generational ZGC",
        (_, Some(old)) if old.starts_with('Z') => "ZGC",
        (young, old) => old.or(young)?,
    };
    Some(usual.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectors_have_their_usual_names() {
        assert_eq!(
            collector(Some("G1New"), Some("G1Old")).as_deref(),
            Some("G1")
        );
        assert_eq!(
            collector(Some("ParallelScavenge"), Some("ParallelOld")).as_deref(),
            Some("Parallel")
        );
        assert_eq!(collector(None, Some("Z")).as_deref(), Some("ZGC"));
        assert_eq!(collector(Some("Epsilon"), None).as_deref(), Some("Epsilon"));
        assert_eq!(collector(None, None), None);
    }
}
