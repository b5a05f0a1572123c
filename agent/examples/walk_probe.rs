//! Walks a JVM without waiting for a leak signal: starts one in this process, runs a Java main class in it and looks
//! for the instances of given classes until each has a chain with enough instances.
//!
//! `walk_probe JAVA_HOME CLASSPATH MAIN CLASS[,CLASS...] [--instances N] [--seconds N] [--edges N] [--memory BYTES]
//! [--abort MICROS] [--dumps 1] [--pending 1] [--cut 1] [--walk hash|tags|safepoint] [--args A,B] [-- JVM OPTIONS]` prints one JSON object, with
//! chains as `jfr-chains report --format
//! json` has them, best first, and what the last search cost. Exits 0 when every class has a chain with that many
//! instances before the time is over, else 1. With `--abort` a first search is cut that long after its start, over and
//! over, until the time is over. With `--dumps` the JVM prints its thread dump, which counts JNI references, before
//! the first search and after everything was released. With `--pending` every call of the walk begins with an exception
//! pending on its thread, and must leave none. `tagged` counts the objects that carry a tag in the walk's own
//! environment after all searches: every tag, whatever its value. With `--cut` it ends instead with the first search that
//! the cap on memory cut.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "a tool for tests: it may die with a message"
)]

use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chain_core::chain::{FoundChain, Hop};
use chain_core::inline::InlineVec;
use chain_core::plan::{Deadlines, Target};
use chain_core::{Bytes, ClassId, HeapWalk, Micros, PassPlan, SearchId};
use jfr_chains_agent::jvm::env::raw_jni::{
    JNI_CreateJavaVM, JNI_VERSION_1_8, JNIEnv, JavaVM, JavaVMInitArgs, JavaVMOption,
};
use jfr_chains_agent::jvm::env::raw_jvmti::{jvmtiCapabilities, jvmtiError, jvmtiHeapCallbacks};
use jfr_chains_agent::jvm::env::{Jni, Jvmti, Value, Vm};
use jfr_chains_agent::jvm::walk::{ConcurrentWalk, Host, Recognise, SafepointWalk};
use serde_json::{Value as Json, json};

struct Request {
    java_home: String,
    classpath: String,
    main: String,
    candidates: Vec<String>,
    instances: u64,
    limit: Duration,
    edges: u64,
    memory: u64,
    abort: Option<Duration>,
    dumps: bool,
    pending: bool,
    cut: bool,
    walk: String,
    args: Vec<String>,
    jvm: Vec<String>,
}

fn main() {
    let request = parse(std::env::args().skip(1).collect());
    let vm = start(&request);
    let worker = {
        let walk = Walk {
            vm,
            candidates: request.candidates.clone(),
            instances: request.instances,
            limit: request.limit,
            edges: request.edges,
            memory: request.memory,
            abort: request.abort,
            dumps: request.dumps,
            pending: request.pending,
            until_cut: request.cut,
            walk: request.walk.clone(),
        };
        std::thread::spawn(move || {
            let code = vm
                .attached_as_daemon("jfr-chains-probe", |jni| walk.run(jni))
                .unwrap();
            std::process::exit(code);
        })
    };
    run_main(vm, &request.main, &request.args);
    worker.join().unwrap();
}

fn parse(args: Vec<String>) -> Request {
    let mut args = args.into_iter();
    let mut next = || args.next().expect("JAVA_HOME CLASSPATH MAIN CLASSES");
    let (java_home, classpath, main, classes) = (next(), next(), next(), next());
    let mut request = Request {
        java_home,
        classpath,
        main,
        candidates: classes.split(',').map(str::to_owned).collect(),
        instances: 64,
        limit: Duration::from_secs(30),
        edges: 100_000,
        memory: 64 << 20,
        abort: None,
        dumps: false,
        pending: false,
        cut: false,
        walk: "hash".to_owned(),
        args: Vec::new(),
        jvm: Vec::new(),
    };
    let rest: Vec<String> = args.collect();
    let mut at = 0;
    while at < rest.len() {
        if rest[at] == "--" {
            request.jvm = rest[at + 1..].to_vec();
            break;
        }
        let value = rest.get(at + 1).expect("a value");
        match rest[at].as_str() {
            "--instances" => request.instances = value.parse().unwrap(),
            "--seconds" => request.limit = Duration::from_secs(value.parse().unwrap()),
            "--edges" => request.edges = value.parse().unwrap(),
            "--memory" => request.memory = value.parse().unwrap(),
            "--abort" => request.abort = Some(Duration::from_micros(value.parse().unwrap())),
            "--dumps" => request.dumps = value == "1",
            "--pending" => request.pending = value == "1",
            "--cut" => request.cut = value == "1",
            "--walk" => request.walk.clone_from(value),
            "--args" => request.args = value.split(',').map(str::to_owned).collect(),
            other => panic!("unknown option {other}"),
        }
        at += 2;
    }
    request
}

fn start(request: &Request) -> Vm {
    let library = format!("{}/lib/server/libjvm.so", request.java_home);
    // SAFETY: libjvm's initialisers are the JVM's own.
    let library = unsafe { libloading::Library::new(&library) }.expect("libjvm.so");
    let library: &'static libloading::Library = Box::leak(Box::new(library));
    // SAFETY: the symbol has this signature in every JVM.
    let create = unsafe { library.get::<JNI_CreateJavaVM>(b"JNI_CreateJavaVM\0") }.unwrap();
    let mut options: Vec<CString> = request
        .jvm
        .iter()
        .map(|o| CString::new(o.as_str()).unwrap())
        .collect();
    options.push(CString::new(format!("-Djava.class.path={}", request.classpath)).unwrap());
    let mut raw: Vec<JavaVMOption> = options
        .iter()
        .map(|o| JavaVMOption {
            optionString: o.as_ptr().cast_mut(),
            extraInfo: std::ptr::null_mut(),
        })
        .collect();
    let mut args = JavaVMInitArgs {
        version: JNI_VERSION_1_8,
        nOptions: raw.len() as i32,
        options: raw.as_mut_ptr(),
        ignoreUnrecognized: 0,
    };
    let mut vm: *mut JavaVM = std::ptr::null_mut();
    let mut env: *mut JNIEnv = std::ptr::null_mut();
    // SAFETY: all pointers are live locals; the JVM copies what it keeps.
    let code = unsafe {
        create(
            (&raw mut vm).cast(),
            (&raw mut env).cast::<*mut c_void>().cast(),
            (&raw mut args).cast(),
        )
    };
    assert_eq!(code, 0, "JNI_CreateJavaVM");
    // SAFETY: the JVM lives as long as the process.
    unsafe { Vm::from_raw(vm) }.unwrap()
}

fn run_main(vm: Vm, class: &str, args: &[String]) {
    let jni = vm.current().expect("the creating thread is attached");
    let name = CString::new(class.replace('.', "/")).unwrap();
    let class = jni.find_class(&name).expect("the main class");
    let main = jni
        .static_method(&class, c"main", c"([Ljava/lang/String;)V")
        .unwrap();
    let string = jni.find_class(c"java/lang/String").unwrap();
    // SAFETY: a plain array of strings.
    let array = unsafe {
        (jni.table().NewObjectArray)(
            jni.raw(),
            args.len() as i32,
            string.raw(),
            std::ptr::null_mut(),
        )
    };
    for (i, arg) in args.iter().enumerate() {
        let arg = jni.new_string(arg).unwrap();
        // SAFETY: index and type fit.
        unsafe { (jni.table().SetObjectArrayElement)(jni.raw(), array, i as i32, arg.raw()) };
        jni.delete(arg);
    }
    // SAFETY: a fresh local reference.
    let array = unsafe { jfr_chains_agent::jvm::env::Obj::from_raw(array) };
    let argument = [Value::Object(array.as_ref()).raw_value()];
    // SAFETY: main takes one String[].
    unsafe {
        (jni.table().CallStaticVoidMethodA)(jni.raw(), class.raw(), main.raw(), argument.as_ptr());
    }
    if jni.clear_exception() {
        eprintln!("main threw");
    }
}

trait RawValue {
    fn raw_value(&self) -> jfr_chains_agent::jvm::env::raw_jni::jvalue;
}

impl RawValue for Value<'_> {
    fn raw_value(&self) -> jfr_chains_agent::jvm::env::raw_jni::jvalue {
        match self {
            Value::Object(Some(o)) => jfr_chains_agent::jvm::env::raw_jni::jvalue { l: o.raw() },
            _ => jfr_chains_agent::jvm::env::raw_jni::jvalue { j: 0 },
        }
    }
}

struct Names(Vec<Arc<str>>);

impl Host for Names {
    fn class_signature(&self, class: ClassId) -> Option<Arc<str>> {
        self.0.get(class.0 as usize).cloned()
    }
}

struct Walk {
    vm: Vm,
    candidates: Vec<String>,
    instances: u64,
    limit: Duration,
    edges: u64,
    memory: u64,
    abort: Option<Duration>,
    dumps: bool,
    pending: bool,
    until_cut: bool,
    walk: String,
}

/// The engine that was asked for.
enum Either {
    Concurrent(ConcurrentWalk<Names>),
    Safepoint(SafepointWalk<Names>),
}

impl Either {
    fn walk(&mut self) -> &mut dyn HeapWalk {
        match self {
            Self::Concurrent(walk) => walk,
            Self::Safepoint(walk) => walk,
        }
    }

    fn shut_down(&mut self) {
        match self {
            Self::Concurrent(walk) => walk.shut_down(),
            Self::Safepoint(walk) => walk.shut_down(),
        }
    }
}

/// How many objects carry a tag in this environment. A count that would miss one fails the probe.
fn tagged(jvmti: Jvmti, jni: &Jni<'_>) -> u64 {
    let before = count_tagged(jvmti);
    let object = jni.find_class(c"java/lang/IllegalStateException").unwrap();
    let tag = jvmti.tag(&object).unwrap();
    jvmti.set_tag(&object, tag.max(1)).unwrap();
    assert_eq!(count_tagged(jvmti), before + u64::from(tag == 0));
    jvmti.set_tag(&object, tag).unwrap();
    before
}

fn count_tagged(jvmti: Jvmti) -> u64 {
    /// Leaves untagged objects out.
    const FILTER_UNTAGGED: i32 = 0x8;
    unsafe extern "system" fn one(
        _class: i64,
        _size: i64,
        _tag: *mut i64,
        _length: i32,
        data: *mut c_void,
    ) -> i32 {
        // SAFETY: the counter below, which outlives the iteration.
        unsafe { *data.cast::<u64>() += 1 };
        0
    }
    let callbacks = jvmtiHeapCallbacks {
        heap_iteration_callback: Some(one),
        ..jvmtiHeapCallbacks::default()
    };
    let mut count = 0_u64;
    // SAFETY: no class filter, our callbacks and counter.
    let code = unsafe {
        (jvmti.table().IterateThroughHeap.unwrap())(
            jvmti.raw(),
            FILTER_UNTAGGED,
            std::ptr::null_mut(),
            &raw const callbacks,
            (&raw mut count).cast(),
        )
    };
    assert_eq!(code, jvmtiError::NONE);
    count
}

static ABORT: AtomicBool = AtomicBool::new(false);

impl Walk {
    fn run(&self, jni: &Jni<'_>) -> i32 {
        let jvmti = self.vm.new_jvmti().unwrap();
        let mut caps = jvmtiCapabilities::default();
        caps.set_can_tag_objects(true);
        caps.set_can_get_current_thread_cpu_time(true);
        caps.set_can_get_line_numbers(true);
        jvmti.add_capabilities(&caps).unwrap();
        let signatures = self.candidates.iter().map(|n| signature(n)).collect();
        let names = Names(signatures);
        let (vm, abort) = (self.vm, &ABORT);
        let concurrent =
            |names, how| Either::Concurrent(ConcurrentWalk::new(vm, jvmti, names, abort, how));
        let mut walk = match self.walk.as_str() {
            "hash" => concurrent(names, Recognise::Hash),
            "tags" => concurrent(names, Recognise::Tags),
            "safepoint" => Either::Safepoint(SafepointWalk::new(vm, jvmti, names, abort)),
            other => panic!("unknown walk {other}"),
        };
        if self.dumps {
            dump();
        }
        let started = Instant::now();
        let mut aborted = Aborted::default();
        if let Some(after) = self.abort {
            while started.elapsed() < self.limit {
                let late = self.cut(jni, walk.walk(), after);
                aborted.add(late);
                if aborted.searches % EACH == 0 {
                    collect(jni);
                }
                if aborted.searches == EACH {
                    aborted.resident = resident();
                }
            }
        }
        let grown = resident().saturating_sub(aborted.resident);
        let mut search = 1_000_000;
        loop {
            search += 1;
            let mut out = self.search(jni, walk.walk(), search);
            let enough = (0..self.candidates.len()).all(|i| {
                let class = ClassId(i as u32);
                out.chains
                    .iter()
                    .any(|c| c.candidate == class && c.instances >= self.instances)
            });
            let enough = if self.until_cut {
                out.cost["evicted"].as_u64() > Some(0)
            } else {
                enough
            };
            if enough || started.elapsed() > self.limit {
                let chains: Vec<Json> = out
                    .chains
                    .iter()
                    .map(|chain| {
                        self.throw(jni);
                        self.tell(chain, walk.walk().reverify(chain))
                    })
                    .collect();
                out.cost["searches"] = json!(search - 1_000_000);
                self.throw(jni);
                walk.shut_down();
                let tagged = tagged(jvmti, jni);
                if self.dumps {
                    dump();
                }
                assert!(!jni.clear_exception(), "the walk left an exception pending");
                let found = json!({
                    "verdict": if chains.is_empty() { "unknown" } else { "leak" },
                    "chains": chains,
                    "cost": out.cost,
                    "tagged": tagged,
                    "aborted": {
                        "searches": aborted.searches, "late_micros": aborted.late.as_micros() as u64,
                        "grown_bytes": grown,
                    },
                });
                println!("{found}");
                return i32::from(!enough);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// With `--pending`, an exception on this thread.
    fn throw(&self, jni: &Jni<'_>) {
        if !self.pending {
            return;
        }
        jni.clear_exception();
        let class = jni.find_class(c"java/lang/IllegalStateException").unwrap();
        // SAFETY: a class of exceptions, and a string that lives.
        let thrown = unsafe {
            (jni.table().ThrowNew)(jni.raw(), class.raw(), c"pending before the walk".as_ptr())
        };
        assert_eq!(thrown, 0);
        // Allowed while an exception is pending.
        jni.delete(class);
    }

    fn plan(&self, search: u32) -> PassPlan {
        let mut targets = InlineVec::default();
        for i in 0..self.candidates.len() {
            targets.push(Target {
                class: ClassId(i as u32),
                ..Target::default()
            });
        }
        PassPlan {
            search: SearchId(search),
            expand: true,
            edge_budget: self.edges,
            deadlines: Deadlines {
                cpu: Micros(200_000),
                ..Deadlines::default()
            },
            targets,
            memcap: Bytes(self.memory),
            hops: 200,
            ..PassPlan::default()
        }
    }

    fn search(&self, jni: &Jni<'_>, walk: &mut dyn HeapWalk, search: u32) -> Searched {
        let mut plan = self.plan(search);
        let mut chains: Vec<FoundChain> = Vec::new();
        let (mut edges, mut cpu, mut heap_walk, mut longest) = (0, 0, 0, 0);
        for pass in 1.. {
            plan.pass = pass;
            self.throw(jni);
            let report = walk.run_pass(&plan);
            assert!(!jni.clear_exception(), "a pass left an exception pending");
            edges += report.edges;
            cpu += report.cpu.0;
            heap_walk += report.heap_walk.0;
            longest = longest.max(report.wall.0);
            for told in &report.chains {
                let again = report.chains.iter().any(|c| c.candidate == told.candidate);
                chains.retain(|c| c.candidate != told.candidate || !again);
            }
            chains.extend(report.chains);
            plan.roots = report.drained && !plan.roots && !report.roots.attempted();
            if report.drained && !plan.roots {
                chains.sort_by_key(|c| c.candidate);
                self.throw(jni);
                let released = walk.release(SearchId(search));
                assert!(released.complete);
                assert!(
                    !jni.clear_exception(),
                    "a release left an exception pending"
                );
                let cost = json!({
                    "release_micros": released.took.0,
                    "passes": pass, "edges": edges, "nodes": report.nodes, "cpu_micros": cpu,
                    "heap_walk_micros": heap_walk, "longest_pass_micros": longest,
                    "native_bytes": report.native.0, "coverage": report.coverage,
                    "died": report.frontier_died, "evicted": report.evicted,
                    "reached": report.reached.iter().map(|r| r.instances).collect::<Vec<_>>(),
                });
                return Searched { chains, cost };
            }
        }
        unreachable!("passes do not end")
    }

    /// Starts a search and cuts it; answers how long after the flag the pass came back.
    fn cut(&self, jni: &Jni<'_>, walk: &mut dyn HeapWalk, after: Duration) -> Duration {
        let mut plan = self.plan(1);
        plan.roots = true;
        plan.edge_budget = u64::MAX;
        let flagged = std::thread::spawn(move || {
            std::thread::sleep(after);
            let at = Instant::now();
            ABORT.store(true, Ordering::Relaxed);
            at
        });
        while !walk.run_pass(&plan).aborted {
            plan.pass += 1;
        }
        let late = flagged.join().unwrap().elapsed();
        ABORT.store(false, Ordering::Relaxed);
        self.throw(jni);
        assert!(walk.release(SearchId(1)).complete);
        late
    }

    fn tell(&self, found: &FoundChain, holds: bool) -> Json {
        let chain = &found.chain;
        let root = &chain.root;
        json!({
            "class": self.candidates[found.candidate.0 as usize],
            "identity": found.identity.to_string(),
            "signature": found.signature.to_string(),
            "instances": found.instances,
            "reached": found.reached,
            "verified": found.verified,
            "holds": holds,
            "strength": chain.strength.name(),
            "root": {
                "kind": root.kind.name(), "class": root.class.as_deref(), "field": root.field.as_deref(),
                "thread": root.thread.as_deref(), "line": root.frame.and_then(|f| f.line),
            },
            "hops": chain.hops.iter().map(tell_hop).collect::<Vec<_>>(),
        })
    }
}

/// Has the JVM print its thread dump.
fn dump() {
    let pid = std::process::id().to_string();
    let asked = std::process::Command::new("kill")
        .args(["-s", "QUIT", &pid])
        .status();
    assert!(asked.is_ok_and(|status| status.success()), "kill -s QUIT");
    // The JVM answers on a thread of its own, and nothing tells when it is done.
    std::thread::sleep(Duration::from_secs(2));
}

/// What a search found and cost.
struct Searched {
    chains: Vec<FoundChain>,
    cost: Json,
}

/// Searches that were cut.
#[derive(Default)]
struct Aborted {
    searches: u32,
    late: Duration,
    /// Resident memory after the first few.
    resident: u64,
}

/// Searches between two collections; the first ones may grow what the walk and the allocator keep.
const EACH: u32 = 10;

/// Collects: HotSpot keeps a disposed environment, 8 KiB and its tags, until the next collection, and a search of the
/// agent follows one.
fn collect(jni: &Jni<'_>) {
    let class = jni.find_class(c"java/lang/Runtime").unwrap();
    let current = jni
        .static_method(&class, c"getRuntime", c"()Ljava/lang/Runtime;")
        .unwrap();
    let gc = jni.method(&class, c"gc", c"()V").unwrap();
    // SAFETY: a static method of this class that takes nothing.
    let runtime = unsafe { jni.call_static_object(&class, current, &[]) };
    let runtime = runtime.unwrap().unwrap();
    // SAFETY: a method of this class that takes nothing.
    unsafe { jni.call_void(&runtime, gc, &[]) }.unwrap();
    jni.delete(runtime);
    jni.delete(class);
}

/// Resident memory of this process in bytes; 0 where the system does not say.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

impl Aborted {
    fn add(&mut self, late: Duration) {
        self.searches += 1;
        self.late = self.late.max(late);
    }
}

fn tell_hop(hop: &Hop) -> Json {
    json!({
        "class": &*hop.class,
        "edge": {"kind": hop.edge.kind.name(), "name": hop.edge.name.as_deref(), "index": hop.edge.index},
        "run": hop.run,
        "fan_out": hop.fan_out,
    })
}

fn signature(name: &str) -> Arc<str> {
    let (base, dims) = match name.find('[') {
        Some(at) => (&name[..at], name[at..].matches('[').count()),
        None => (name, 0),
    };
    let base = match base {
        "byte" => "B".to_owned(),
        "char" => "C".to_owned(),
        "int" => "I".to_owned(),
        "long" => "J".to_owned(),
        other => format!("L{};", other.replace('.', "/")),
    };
    format!("{}{base}", "[".repeat(dims)).into()
}
