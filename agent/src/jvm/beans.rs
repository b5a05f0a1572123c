//! Collection counts, heap use after the last collection and the heap's limit, from the JVM's own beans.
//!
//! Runs on the worker. Every Java call may allocate and throw: the worker is muted, exceptions are cleared.

use chain_core::collector::{self, Bean as Counted};
use chain_core::config::Collector;
use chain_core::input::GcReading;
use chain_core::{Bytes, Epoch};

use super::env::{Global, Jni, JvmError, MethodId, Obj, Value};
use super::epoch;
use crate::gc;

/// One garbage collector bean.
#[derive(Debug)]
struct Bean {
    name: String,
    bean: Global,
    /// It offers `getLastGcInfo`.
    has_info: bool,
}

/// Methods of the management classes.
#[derive(Debug)]
struct Methods {
    collection_count: MethodId,
    last_gc_info: Option<MethodId>,
    end_time: Option<MethodId>,
    usage_after: Option<MethodId>,
    map_get: MethodId,
    used: MethodId,
    collection_usage: MethodId,
}

/// The management beans; every reference is global and freed by [`Beans::close`].
#[derive(Debug)]
pub struct Beans {
    beans: Vec<Bean>,
    /// Names of the heap's pools, as Java strings.
    heap_pools: Vec<Global>,
    /// The class loading bean and its count of unloaded classes.
    loading: Option<(Global, MethodId)>,
    /// G1's old pool: its use after collection changes with mixed collections only.
    old_pool: Option<Global>,
    methods: Methods,
}

/// The `Runtime` object: the figures that need no module.
#[derive(Debug)]
pub struct Runtime {
    runtime: Global,
    max: MethodId,
    total: MethodId,
    free: MethodId,
}

impl Runtime {
    /// Finds `java.lang.Runtime`.
    ///
    /// # Errors
    /// Any failed call; no JVM is known where one fails.
    pub fn open(jni: &Jni<'_>) -> Result<Self, JvmError> {
        jni.frame(8, |jni| {
            let class = jni.find_class(c"java/lang/Runtime")?;
            let get = jni.static_method(&class, c"getRuntime", c"()Ljava/lang/Runtime;")?;
            // SAFETY: a static method of this class without arguments.
            let runtime = unsafe { jni.call_static_object(&class, get, &[]) }?
                .ok_or(JvmError::Null("getRuntime"))?;
            Ok(Self {
                runtime: jni
                    .new_global(&runtime)
                    .ok_or(JvmError::Null("NewGlobalRef"))?,
                max: jni.method(&class, c"maxMemory", c"()J")?,
                total: jni.method(&class, c"totalMemory", c"()J")?,
                free: jni.method(&class, c"freeMemory", c"()J")?,
            })
        })?
    }

    fn long(&self, jni: &Jni<'_>, method: MethodId) -> Option<u64> {
        // SAFETY: methods of Runtime without arguments.
        let value = unsafe { jni.call_long(&self.runtime.as_obj(), method, &[]) }.ok()?;
        u64::try_from(value).ok()
    }

    /// The heap's limit.
    #[must_use]
    pub fn max_heap(&self, jni: &Jni<'_>) -> Option<Bytes> {
        // Long.MAX_VALUE says "no limit".
        self.long(jni, self.max)
            .filter(|max| *max < i64::MAX.unsigned_abs())
            .map(Bytes)
    }

    /// Heap bytes in use now, garbage included.
    #[must_use]
    pub fn used_now(&self, jni: &Jni<'_>) -> Option<Bytes> {
        Some(Bytes(
            self.long(jni, self.total)?
                .saturating_sub(self.long(jni, self.free)?),
        ))
    }

    /// Frees the reference.
    pub fn close(self, jni: &Jni<'_>) {
        jni.delete_global(self.runtime);
    }
}

impl Beans {
    /// Finds the beans.
    ///
    /// # Errors
    /// [`JvmError::Exception`] when the JVM lacks the module java.management.
    pub fn open(jni: &Jni<'_>) -> Result<Self, JvmError> {
        jni.frame(64, |jni| {
            let factory = jni.find_class(c"java/lang/management/ManagementFactory")?;
            let methods = Methods::find(jni)?;
            let mut this = Self {
                beans: Vec::new(),
                heap_pools: Vec::new(),
                loading: loading_bean(jni, &factory).ok(),
                old_pool: None,
                methods,
            };
            let filled = this.fill(jni, &factory);
            match filled {
                Ok(()) => Ok(this),
                Err(error) => {
                    this.close(jni);
                    Err(error)
                }
            }
        })?
    }

    fn fill(&mut self, jni: &Jni<'_>, factory: &Obj<'_>) -> Result<(), JvmError> {
        let extended = jni
            .find_class(c"com/sun/management/GarbageCollectorMXBean")
            .ok();
        let manager = jni.find_class(c"java/lang/management/MemoryManagerMXBean")?;
        let name = jni.method(&manager, c"getName", c"()Ljava/lang/String;")?;
        each(jni, factory, c"getGarbageCollectorMXBeans", |jni, bean| {
            let name = name_of(jni, bean, name)?;
            let global = jni.new_global(bean).ok_or(JvmError::Null("NewGlobalRef"))?;
            let has_info = extended
                .as_ref()
                .is_some_and(|class| jni.is_instance(bean, class));
            self.beans.push(Bean {
                name,
                bean: global,
                has_info,
            });
            Ok(())
        })?;
        let pool = jni.find_class(c"java/lang/management/MemoryPoolMXBean")?;
        let name = jni.method(&pool, c"getName", c"()Ljava/lang/String;")?;
        let kind = jni.method(&pool, c"getType", c"()Ljava/lang/management/MemoryType;")?;
        let object = jni.find_class(c"java/lang/Enum")?;
        let enum_name = jni.method(&object, c"name", c"()Ljava/lang/String;")?;
        each(jni, factory, c"getMemoryPoolMXBeans", |jni, pool| {
            // SAFETY: methods of the pool bean without arguments.
            let (kind, java_name) = unsafe {
                (
                    jni.call_object(pool, kind, &[])?,
                    jni.call_object(pool, name, &[])?,
                )
            };
            let (Some(kind), Some(java_name)) = (kind, java_name) else {
                return Ok(());
            };
            if name_of(jni, &kind, enum_name)? != "HEAP" {
                return Ok(());
            }
            // SAFETY: `getName` returns a string.
            if unsafe { jni.string(&java_name) }? == "G1 Old Gen" {
                self.old_pool = jni.new_global(pool);
            }
            self.heap_pools.extend(jni.new_global(&java_name));
            Ok(())
        })
    }

    /// Which collector runs.
    #[must_use]
    pub fn collector(&self) -> Collector {
        collector::detect(self.beans.iter().map(|bean| bean.name.as_str()))
    }

    /// Normalised cycles and collections that cleared old garbage, mixed ones aside; `None` when no bean answers.
    #[must_use]
    pub fn cycles(&self, jni: &Jni<'_>, collector: Collector) -> Option<(Epoch, u64)> {
        let counted = self.beans.iter().map(|bean| {
            // SAFETY: a method of GarbageCollectorMXBean without arguments.
            let count =
                unsafe { jni.call_long(&bean.bean.as_obj(), self.methods.collection_count, &[]) };
            Counted {
                name: &bean.name,
                count: count.unwrap_or(-1),
            }
        });
        collector::epoch_from_beans(collector, counted)
    }

    /// Heap bytes in use after the most recent collection; `None` before the first one or without the module
    /// jdk.management.
    #[must_use]
    pub fn used_after_gc(&self, jni: &Jni<'_>) -> Option<Bytes> {
        let (info, end, usage) = (
            self.methods.last_gc_info?,
            self.methods.end_time?,
            self.methods.usage_after?,
        );
        let mut newest: Option<(i64, Bytes)> = None;
        for bean in self
            .beans
            .iter()
            .filter(|bean| bean.has_info && bean.name != "G1 Concurrent GC")
        {
            let read = jni.frame(32, |jni| {
                // SAFETY: methods of GcInfo and GarbageCollectorMXBean (com.sun.management) without arguments.
                let info = unsafe { jni.call_object(&bean.bean.as_obj(), info, &[]) }.ok()??;
                // SAFETY: as above.
                let ended = unsafe { jni.call_long(&info, end, &[]) }.ok()?;
                // SAFETY: as above.
                let map = unsafe { jni.call_object(&info, usage, &[]) }.ok()??;
                Some((ended, self.sum_of_pools(jni, &map)?))
            });
            if let Ok(Some((ended, used))) = read
                && newest.is_none_or(|(last, _)| ended >= last)
            {
                newest = Some((ended, used));
            }
        }
        newest.map(|(_, used)| used)
    }

    fn sum_of_pools(&self, jni: &Jni<'_>, map: &Obj<'_>) -> Option<Bytes> {
        let mut sum = 0u64;
        for pool in &self.heap_pools {
            // SAFETY: Map.get takes one object; MemoryUsage.getUsed takes nothing.
            let usage = unsafe {
                jni.call_object(
                    map,
                    self.methods.map_get,
                    &[Value::Object(Some(&pool.as_obj()))],
                )
            };
            let Some(usage) = usage.ok()? else { continue };
            // SAFETY: as above.
            let used = unsafe { jni.call_long(&usage, self.methods.used, &[]) }.ok()?;
            jni.delete(usage);
            sum = sum.saturating_add(u64::try_from(used).unwrap_or(0));
        }
        Some(Bytes(sum))
    }

    /// Use of G1's old generation after its last collection, which only mixed and full ones update.
    #[must_use]
    pub fn old_used_after(&self, jni: &Jni<'_>) -> Option<u64> {
        let pool = self.old_pool.as_ref()?;
        let used = jni.frame(8, |jni| {
            // SAFETY: methods of MemoryPoolMXBean and MemoryUsage without arguments.
            let usage =
                unsafe { jni.call_object(&pool.as_obj(), self.methods.collection_usage, &[]) }
                    .ok()??;
            // SAFETY: as above.
            unsafe { jni.call_long(&usage, self.methods.used, &[]) }.ok()
        });
        used.ok()
            .flatten()
            .and_then(|used| u64::try_from(used).ok())
    }

    /// Classes unloaded since the JVM started.
    #[must_use]
    pub fn unloaded_classes(&self, jni: &Jni<'_>) -> Option<u64> {
        let (bean, method) = self.loading.as_ref()?;
        // SAFETY: a method of ClassLoadingMXBean without arguments.
        let count = unsafe { jni.call_long(&bean.as_obj(), *method, &[]) }.ok()?;
        u64::try_from(count).ok()
    }

    /// Frees every reference.
    pub fn close(self, jni: &Jni<'_>) {
        if let Some((bean, _)) = self.loading {
            jni.delete_global(bean);
        }
        let beans = self.beans.into_iter().map(|bean| bean.bean);
        for global in beans.chain(self.heap_pools).chain(self.old_pool) {
            jni.delete_global(global);
        }
    }
}

impl Methods {
    fn find(jni: &Jni<'_>) -> Result<Self, JvmError> {
        let collector = jni.find_class(c"java/lang/management/GarbageCollectorMXBean")?;
        let map = jni.find_class(c"java/util/Map")?;
        let usage = jni.find_class(c"java/lang/management/MemoryUsage")?;
        let pool = jni.find_class(c"java/lang/management/MemoryPoolMXBean")?;
        let extended = jni
            .find_class(c"com/sun/management/GarbageCollectorMXBean")
            .ok();
        let info = jni.find_class(c"com/sun/management/GcInfo").ok();
        Ok(Self {
            collection_count: jni.method(&collector, c"getCollectionCount", c"()J")?,
            last_gc_info: extended.and_then(|class| {
                jni.method(&class, c"getLastGcInfo", c"()Lcom/sun/management/GcInfo;")
                    .ok()
            }),
            end_time: info
                .as_ref()
                .and_then(|class| jni.method(class, c"getEndTime", c"()J").ok()),
            usage_after: info.as_ref().and_then(|class| {
                jni.method(class, c"getMemoryUsageAfterGc", c"()Ljava/util/Map;")
                    .ok()
            }),
            map_get: jni.method(&map, c"get", c"(Ljava/lang/Object;)Ljava/lang/Object;")?,
            used: jni.method(&usage, c"getUsed", c"()J")?,
            collection_usage: jni.method(
                &pool,
                c"getCollectionUsage",
                c"()Ljava/lang/management/MemoryUsage;",
            )?,
        })
    }
}

fn loading_bean(jni: &Jni<'_>, factory: &Obj<'_>) -> Result<(Global, MethodId), JvmError> {
    let class = jni.find_class(c"java/lang/management/ClassLoadingMXBean")?;
    let unloaded = jni.method(&class, c"getUnloadedClassCount", c"()J")?;
    let get = c"getClassLoadingMXBean";
    let get = jni.static_method(factory, get, c"()Ljava/lang/management/ClassLoadingMXBean;")?;
    // SAFETY: a static method of the factory without arguments.
    let bean = unsafe { jni.call_static_object(factory, get, &[]) }?
        .ok_or(JvmError::Null("getClassLoadingMXBean"))?;
    let global = jni
        .new_global(&bean)
        .ok_or(JvmError::Null("NewGlobalRef"))?;
    Ok((global, unloaded))
}

/// Calls a static no-argument method that returns a List, and `body` for each element in a frame of its own.
fn each(
    jni: &Jni<'_>,
    factory: &Obj<'_>,
    method: &std::ffi::CStr,
    mut body: impl for<'g> FnMut(&Jni<'g>, &Obj<'g>) -> Result<(), JvmError>,
) -> Result<(), JvmError> {
    let list_class = jni.find_class(c"java/util/List")?;
    let size = jni.method(&list_class, c"size", c"()I")?;
    let get = jni.method(&list_class, c"get", c"(I)Ljava/lang/Object;")?;
    let method = jni.static_method(factory, method, c"()Ljava/util/List;")?;
    // SAFETY: a static method of the factory without arguments.
    let list =
        unsafe { jni.call_static_object(factory, method, &[]) }?.ok_or(JvmError::Null("List"))?;
    // SAFETY: List.size takes nothing.
    let count = unsafe { jni.call_int(&list, size, &[]) }?;
    for index in 0..count {
        jni.frame(16, |jni| {
            // SAFETY: List.get takes one int.
            match unsafe { jni.call_object(&list, get, &[Value::Int(index)]) }? {
                Some(element) => body(jni, &element),
                None => Ok(()),
            }
        })??;
    }
    Ok(())
}

/// Calls a no-argument method that returns a String.
fn name_of(jni: &Jni<'_>, obj: &Obj<'_>, method: MethodId) -> Result<String, JvmError> {
    // SAFETY: callers pass a no-argument method of the object's class that returns a String.
    unsafe {
        let name = jni
            .call_object(obj, method, &[])?
            .ok_or(JvmError::Null("getName"))?;
        jni.string(&name)
    }
}

/// Names of this process's native threads, as the operating system shortens them.
fn native_thread_names() -> Vec<String> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .map(|name| name.trim_end().to_owned())
        .collect()
}

/// Reads GC counters for the engine, from the beans or, without them, from callback counts.
#[derive(Debug)]
pub struct GcReader {
    runtime: Option<Runtime>,
    beans: Option<Beans>,
    collector: Collector,
    mixed: u64,
    last_old_used: Option<u64>,
}

impl GcReader {
    /// Opens what there is; why the beans are missing, for the degradation notice.
    pub fn open(jni: &Jni<'_>) -> (Self, Option<JvmError>) {
        let runtime = Runtime::open(jni).ok();
        let (beans, error) = match Beans::open(jni) {
            Ok(beans) => (Some(beans), None),
            Err(error) => (None, Some(error)),
        };
        let collector = match &beans {
            Some(beans) => beans.collector(),
            None => gc::collector_by_threads(native_thread_names().iter().map(String::as_str)),
        };
        (
            Self {
                runtime,
                beans,
                collector,
                mixed: 0,
                last_old_used: None,
            },
            error,
        )
    }

    /// A reader that has asked nothing: callback counts only.
    #[must_use]
    pub fn closed() -> Self {
        let names = native_thread_names();
        Self {
            runtime: None,
            beans: None,
            collector: gc::collector_by_threads(names.iter().map(String::as_str)),
            mixed: 0,
            last_old_used: None,
        }
    }

    /// Which collector runs.
    #[must_use]
    pub fn collector(&self) -> Collector {
        self.collector
    }

    /// Whether the beans answer.
    #[must_use]
    pub fn has_beans(&self) -> bool {
        self.beans.is_some()
    }

    /// Classes unloaded since the JVM started; `None` without the beans.
    #[must_use]
    pub fn unloaded_classes(&self, jni: &Jni<'_>) -> Option<u64> {
        self.beans.as_ref()?.unloaded_classes(jni)
    }

    /// The heap's limit.
    #[must_use]
    pub fn max_heap(&self, jni: &Jni<'_>) -> Option<Bytes> {
        self.runtime.as_ref()?.max_heap(jni)
    }

    /// One reading, and the callback count that belongs to it.
    pub fn read(&mut self, jni: &Jni<'_>) -> (GcReading, u64) {
        let callbacks = epoch::finishes();
        let reading = jni.frame(32, |jni| self.read_in_frame(jni, callbacks));
        (reading.unwrap_or_default(), callbacks)
    }

    fn read_in_frame(&mut self, jni: &Jni<'_>, callbacks: u64) -> GcReading {
        let max_heap = self.max_heap(jni);
        let now = || {
            self.runtime
                .as_ref()
                .and_then(|runtime| runtime.used_now(jni))
        };
        let cycles = self
            .beans
            .as_ref()
            .and_then(|beans| Some((beans, beans.cycles(jni, self.collector)?)));
        let Some((beans, (epoch, old))) = cycles else {
            return GcReading {
                epoch: collector::epoch_from_callbacks(self.collector, callbacks),
                // Nothing tells old collections from young ones: every candidate stays unconfirmed.
                old_collections: 0,
                used_after_gc: now(),
                approximate: true,
                max_heap,
            };
        };
        let old_used = beans.old_used_after(jni);
        if old_used.is_some() && self.last_old_used.is_some() && old_used != self.last_old_used {
            self.mixed += 1;
        }
        self.last_old_used = old_used;
        let after = beans.used_after_gc(jni);
        GcReading {
            epoch,
            old_collections: old.saturating_add(self.mixed),
            approximate: after.is_none(),
            used_after_gc: after.or_else(now),
            max_heap,
        }
    }

    /// Frees every reference.
    pub fn close(self, jni: &Jni<'_>) {
        if let Some(beans) = self.beans {
            beans.close(jni);
        }
        if let Some(runtime) = self.runtime {
            runtime.close(jni);
        }
    }
}
