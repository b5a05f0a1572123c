//! Heap dumps of the JVM (`JAVA PROFILE 1.0.2`): what was where, told by somebody other than our walk.
//!
//! A small dump is held whole; objects are found by id and decoded when asked for. Source of the layout: the HPROF
//! binary format as HotSpot's `heapDumper.cpp` documents it.

mod confirm;
mod cursor;

use crate::{Child, Jdk, Running};
use anyhow::{Context as _, bail, ensure};
use cursor::Cursor;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// An object's address at the time of the dump; 0 is null.
pub type Id = u64;

/// A dump, indexed.
#[derive(Debug, Default)]
pub struct Dump {
    bytes: Vec<u8>,
    wide: bool,
    strings: HashMap<Id, String>,
    class_names: HashMap<Id, String>,
    class_of_serial: HashMap<u32, Id>,
    classes: HashMap<Id, Class>,
    objects: HashMap<Id, usize>,
    roots: Vec<(Id, Root)>,
    frames: HashMap<Id, Frame>,
    traces: HashMap<u32, Vec<Id>>,
    threads: HashMap<u32, (Id, u32)>,
}

/// A loaded class.
#[derive(Debug, Default)]
struct Class {
    parent: Id,
    loader: Id,
    /// Static fields that hold references.
    statics: Vec<(Id, Id)>,
    /// Instance fields of the class itself, in the order of an instance's bytes.
    fields: Vec<(Id, u8)>,
}

#[derive(Debug)]
struct Frame {
    method: Id,
    class_serial: u32,
}

/// Why the JVM itself keeps an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A JNI global reference.
    JniGlobal,
    /// A JNI local reference of the thread with this serial number.
    JniLocal(u32),
    /// A local of a Java frame: the thread's serial number and the frame's depth.
    JavaFrame(u32, u32),
    /// A started thread.
    Thread,
    /// A class that is never unloaded.
    StickyClass,
    /// A held monitor.
    Monitor,
    /// Anything else.
    Other,
}

const STRING: u8 = 0x01;
const LOAD_CLASS: u8 = 0x02;
const FRAME: u8 = 0x04;
const TRACE: u8 = 0x05;
const HEAP_DUMP: u8 = 0x0c;
const HEAP_DUMP_SEGMENT: u8 = 0x1c;

const CLASS_DUMP: u8 = 0x20;
const INSTANCE: u8 = 0x21;
const OBJECT_ARRAY: u8 = 0x22;
const PRIMITIVE_ARRAY: u8 = 0x23;

/// The type code of a reference.
const REFERENCE: u8 = 2;
const BYTE: u8 = 8;

/// For a JVM to write its dump.
const LIMIT: Duration = Duration::from_secs(120);

impl Dump {
    /// Has a JVM write its live objects to `path` (by the `jcmd` of any JDK here) and reads them.
    pub fn of(jvm: &Running, path: &Path) -> anyhow::Result<Self> {
        let jcmd = Jdk::all().iter().rev().find_map(|jdk| jdk.tool("jcmd"));
        let out = Child::new(jcmd.context("no JDK with jcmd")?)
            // On a loaded machine a JVM takes long to answer.
            .arg("-J-Dsun.tools.attach.attachTimeout=100000")
            .arg(jvm.pid().to_string())
            .arg("GC.heap_dump")
            .arg(path)
            .run(LIMIT)?;
        ensure!(out.ok() && path.is_file(), "{out}");
        Self::read(path)
    }

    /// Reads and indexes a dump. Errs when it is none, is cut, or has records that nobody documented.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        let mut dump = Self::default();
        let mut at = Cursor::new(&bytes, 0, true);
        let magic = at.until_zero()?;
        ensure!(
            magic.starts_with(b"JAVA PROFILE 1.0."),
            "{} is no heap dump",
            path.display()
        );
        dump.wide = match at.u32()? {
            4 => false,
            8 => true,
            other => bail!("ids of {other} bytes"),
        };
        at.wide = dump.wide;
        at.skip(8)?;
        while !at.is_empty() {
            let (tag, _, length) = (at.u8()?, at.u32()?, at.u32()? as usize);
            let end = at.position() + length;
            dump.record(tag, Cursor::new(&bytes, at.position(), dump.wide), end)
                .with_context(|| format!("record {tag:#x} at {}", at.position()))?;
            at.skip(length)?;
        }
        dump.bytes = bytes;
        ensure!(!dump.objects.is_empty(), "a dump without objects");
        Ok(dump)
    }

    fn record(&mut self, tag: u8, mut at: Cursor<'_>, end: usize) -> anyhow::Result<()> {
        match tag {
            STRING => {
                let id = at.id()?;
                let text = at.bytes(end.saturating_sub(at.position()))?;
                self.strings
                    .insert(id, String::from_utf8_lossy(text).into_owned());
            }
            LOAD_CLASS => {
                let (serial, class) = (at.u32()?, at.id()?);
                at.skip(4)?;
                let name = self
                    .strings
                    .get(&at.id()?)
                    .context("a class without name")?;
                self.class_names.insert(class, java_name(name));
                self.class_of_serial.insert(serial, class);
            }
            FRAME => {
                let (id, method) = (at.id()?, at.id()?);
                let (_signature, _file) = (at.id()?, at.id()?);
                let class_serial = at.u32()?;
                self.frames.insert(
                    id,
                    Frame {
                        method,
                        class_serial,
                    },
                );
            }
            TRACE => {
                let (serial, _thread, count) = (at.u32()?, at.u32()?, at.u32()?);
                let frames = (0..count).map(|_| at.id()).collect::<Result<_, _>>()?;
                self.traces.insert(serial, frames);
            }
            HEAP_DUMP | HEAP_DUMP_SEGMENT => {
                while at.position() < end {
                    self.heap_record(&mut at)?;
                }
                ensure!(at.position() == end, "a segment that ends inside a record");
            }
            _ => {}
        }
        Ok(())
    }

    fn heap_record(&mut self, at: &mut Cursor<'_>) -> anyhow::Result<()> {
        let start = at.position();
        let tag = at.u8()?;
        let id = at.id()?;
        match tag {
            0xff | 0x05 | 0x07 => {
                let root = match tag {
                    0x05 => Root::StickyClass,
                    0x07 => Root::Monitor,
                    _ => Root::Other,
                };
                self.roots.push((id, root));
            }
            0x01 => {
                at.id()?;
                self.roots.push((id, Root::JniGlobal));
            }
            0x02 | 0x03 => {
                let (thread, depth) = (at.u32()?, at.u32()?);
                let root = if tag == 0x02 {
                    Root::JniLocal(thread)
                } else {
                    Root::JavaFrame(thread, depth)
                };
                self.roots.push((id, root));
            }
            0x04 | 0x06 => {
                at.skip(4)?;
                self.roots.push((id, Root::Other));
            }
            0x08 => {
                let (serial, trace) = (at.u32()?, at.u32()?);
                self.threads.insert(serial, (id, trace));
                self.roots.push((id, Root::Thread));
            }
            CLASS_DUMP => self.class_record(id, at)?,
            INSTANCE => {
                at.skip(4)?;
                at.id()?;
                let length = at.u32()? as usize;
                at.skip(length)?;
                self.objects.insert(id, start);
            }
            OBJECT_ARRAY => {
                at.skip(4)?;
                let count = at.u32()? as usize;
                at.id()?;
                at.skip(count.saturating_mul(if self.wide { 8 } else { 4 }))?;
                self.objects.insert(id, start);
            }
            PRIMITIVE_ARRAY => {
                at.skip(4)?;
                let count = at.u32()? as usize;
                let kind = at.u8()?;
                at.skip(count.saturating_mul(size(kind, self.wide)?))?;
                self.objects.insert(id, start);
            }
            other => bail!("heap record {other:#x} at {start}"),
        }
        Ok(())
    }

    fn class_record(&mut self, id: Id, at: &mut Cursor<'_>) -> anyhow::Result<()> {
        at.skip(4)?;
        let mut class = Class {
            parent: at.id()?,
            loader: at.id()?,
            ..Class::default()
        };
        for _signers_domain_reserved in 0..4 {
            at.id()?;
        }
        at.skip(4)?;
        for _constant in 0..at.u16()? {
            at.skip(2)?;
            let kind = at.u8()?;
            at.skip(size(kind, self.wide)?)?;
        }
        for _static in 0..at.u16()? {
            let (name, kind) = (at.id()?, at.u8()?);
            if kind == REFERENCE {
                class.statics.push((name, at.id()?));
            } else {
                at.skip(size(kind, self.wide)?)?;
            }
        }
        for _field in 0..at.u16()? {
            class.fields.push((at.id()?, at.u8()?));
        }
        self.classes.insert(id, class);
        Ok(())
    }

    fn text(&self, string: Id) -> &str {
        self.strings.get(&string).map_or("", String::as_str)
    }

    fn at(&self, position: usize) -> Cursor<'_> {
        Cursor::new(&self.bytes, position, self.wide)
    }

    /// The class of an object as Java writes it: `java.util.HashMap$Node[]`, `byte[]`; `None` for what is no object.
    pub fn class_name(&self, object: Id) -> Option<String> {
        if self.classes.contains_key(&object) {
            return Some("java.lang.Class".to_owned());
        }
        let mut at = self.at(*self.objects.get(&object)?);
        let tag = at.u8().ok()?;
        at.id().ok()?;
        at.skip(4).ok()?;
        match tag {
            INSTANCE => self.class_names.get(&at.id().ok()?).cloned(),
            OBJECT_ARRAY => {
                at.skip(4).ok()?;
                self.class_names.get(&at.id().ok()?).cloned()
            }
            _ => {
                at.skip(4).ok()?;
                let name = match at.u8().ok()? {
                    4 => "boolean[]",
                    5 => "char[]",
                    6 => "float[]",
                    7 => "double[]",
                    BYTE => "byte[]",
                    9 => "short[]",
                    10 => "int[]",
                    11 => "long[]",
                    _ => return None,
                };
                Some(name.to_owned())
            }
        }
    }

    /// The references in an instance's fields, its superclasses' included: name and referent, nulls left out.
    pub fn fields(&self, object: Id) -> Vec<(&str, Id)> {
        let mut found = Vec::new();
        let mut decoded = || -> anyhow::Result<()> {
            let start = self.objects.get(&object).context("no object")?;
            let mut at = self.at(*start);
            ensure!(at.u8()? == INSTANCE, "an array");
            at.id()?;
            at.skip(4)?;
            let mut class = at.id()?;
            at.skip(4)?;
            while let Some(shape) = self.classes.get(&class) {
                for &(name, kind) in &shape.fields {
                    if kind == REFERENCE {
                        found.push((self.text(name), at.id()?));
                    } else {
                        at.skip(size(kind, self.wide)?)?;
                    }
                }
                class = shape.parent;
            }
            Ok(())
        };
        if decoded().is_err() {
            return Vec::new();
        }
        found.retain(|(_, referent)| *referent != 0);
        found
    }

    /// The elements of an array of references, nulls left out.
    pub fn elements(&self, object: Id) -> Vec<Id> {
        let decoded = || -> anyhow::Result<Vec<Id>> {
            let mut at = self.at(*self.objects.get(&object).context("no object")?);
            ensure!(at.u8()? == OBJECT_ARRAY, "no array of references");
            at.id()?;
            at.skip(4)?;
            let count = at.u32()?;
            at.id()?;
            (0..count).map(|_| at.id()).collect()
        };
        let mut elements = decoded().unwrap_or_default();
        elements.retain(|element| *element != 0);
        elements
    }

    /// The ASCII text of a `java.lang.String`.
    pub fn string(&self, object: Id) -> Option<String> {
        let value = self.fields(object).iter().find(|(n, _)| *n == "value")?.1;
        let mut at = self.at(*self.objects.get(&value)?);
        (at.u8().ok()? == PRIMITIVE_ARRAY).then_some(())?;
        at.id().ok()?;
        at.skip(4).ok()?;
        let count = at.u32().ok()? as usize;
        (at.u8().ok()? == BYTE).then_some(())?;
        Some(String::from_utf8_lossy(at.bytes(count).ok()?).into_owned())
    }

    /// `Class.method` of the frame at that depth of a thread, by serial number; `None` when the dump has none.
    fn method(&self, thread: u32, depth: u32) -> Option<(String, &str)> {
        let (_, trace) = self.threads.get(&thread)?;
        let frame = self.traces.get(trace)?.get(depth as usize)?;
        let frame = self.frames.get(frame)?;
        let class = self.class_of_serial.get(&frame.class_serial)?;
        Some((
            self.class_names.get(class)?.clone(),
            self.text(frame.method),
        ))
    }
}

/// Bytes of a value of that type.
fn size(kind: u8, wide: bool) -> anyhow::Result<usize> {
    Ok(match kind {
        REFERENCE if wide => 8,
        REFERENCE => 4,
        4 | BYTE => 1,
        5 | 9 => 2,
        6 | 10 => 4,
        7 | 11 => 8,
        other => bail!("type {other}"),
    })
}

/// `java/util/Map$Entry` and `[Ljava/lang/Object;` as Java writes them; a hidden class keeps its number behind `/`.
fn java_name(name: &str) -> String {
    let base = name.trim_start_matches('[');
    let dimensions = name.len() - base.len();
    let base = match base {
        _ if dimensions == 0 => base,
        "Z" => "boolean",
        "C" => "char",
        "F" => "float",
        "D" => "double",
        "B" => "byte",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        _ => base.trim_start_matches('L').trim_end_matches(';'),
    };
    let (base, number) = match base.split_once("+0x") {
        Some((base, number)) => (base, format!("/0x{number}")),
        None => (base, String::new()),
    };
    format!(
        "{}{number}{}",
        base.replace('/', "."),
        "[]".repeat(dimensions)
    )
}

#[cfg(test)]
mod tests {
    use super::java_name;

    #[test]
    fn names_read_as_in_java() {
        assert_eq!(java_name("java/util/Map$Entry"), "java.util.Map$Entry");
        assert_eq!(java_name("[[Ljava/lang/Object;"), "java.lang.Object[][]");
        assert_eq!(java_name("[B"), "byte[]");
        assert_eq!(java_name("a/B$$Lambda$14+0x0008"), "a.B$$Lambda$14/0x0008");
    }
}
