//! A reader that forgives nothing: a second opinion on every file we write.
//!
//! It checks what the JDK's readers need (sizes, the checkpoint chain, pools that end exactly, keys that are
//! there and never given twice) and decodes every event by the file's own metadata.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_format::entity::{
    ClassInfo, FrameInfo, FrameKind, LoaderInfo, MethodInfo, StackInfo, ThreadInfo,
};
use jfr_format::header::{Header, LEN, State};
use jfr_format::schema::{AnyEvent, FieldSource};
use jfr_format::varint;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

pub type Checked<T> = Result<T, String>;

/// A decoded value.
#[derive(Clone, Debug, PartialEq)]
pub enum Val {
    Null,
    Long(i64),
    Double(f64),
    Bool(bool),
    Text(String),
    /// Type id and key; key 0 is null.
    Key(u64, u64),
    Struct(Vec<(String, Val)>),
    Array(Vec<Val>),
}

#[derive(Debug)]
struct Field {
    name: String,
    type_id: u64,
    pooled: bool,
    array: bool,
}

#[derive(Debug)]
struct Type {
    name: String,
    event: bool,
    fields: Vec<Field>,
}

/// One chunk, decoded.
pub struct Chunk {
    pub header: Header,
    types: HashMap<u64, Type>,
    pools: HashMap<(u64, u64), Val>,
    /// Type name and fields of every event, in file order.
    pub events: Vec<(String, Vec<(String, Val)>)>,
}

/// Reads a whole file or says what is wrong with it.
pub fn read(bytes: &[u8]) -> Checked<Vec<Chunk>> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut values: HashMap<(u64, u64), Val> = HashMap::new();
    let mut at = 0;
    while at < bytes.len() {
        let header = Header::parse(&bytes[at..]).map_err(|e| format!("at {at}: {e}"))?;
        let size = usize::try_from(header.size).map_err(|e| e.to_string())?;
        if header.state != State::Finished || size < LEN || at + size > bytes.len() {
            return Err(format!(
                "chunk at {at}: size {size}, state {:?}",
                header.state
            ));
        }
        let chunk =
            read_chunk(header, &bytes[at..at + size]).map_err(|e| format!("chunk at {at}: {e}"))?;
        if chunks
            .iter()
            .any(|other| other.header.start_nanos >= chunk.header.start_nanos)
        {
            return Err(format!("chunk at {at}: its start is not after the others'"));
        }
        // The JDK's readers carry constants from chunk to chunk.
        for (key, value) in &chunk.pools {
            if values
                .insert(*key, value.clone())
                .is_some_and(|old| old != *value)
            {
                return Err(format!(
                    "chunk at {at}: key {key:?} has another value than before"
                ));
            }
        }
        chunks.push(chunk);
        at += size;
    }
    if chunks.is_empty() {
        Err("empty file".into())
    } else {
        Ok(chunks)
    }
}

/// How many events of declared types a file has, by name.
pub fn counts(chunks: &[Chunk]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (name, _) in chunks.iter().flat_map(|chunk| &chunk.events) {
        *counts.entry(name.clone()).or_default() += 1;
    }
    counts
}

fn read_chunk(header: Header, bytes: &[u8]) -> Checked<Chunk> {
    let metadata_at = usize::try_from(header.metadata).map_err(|e| e.to_string())?;
    let types = read_metadata(event_at(bytes, metadata_at)?)?;
    let mut chunk = Chunk {
        header,
        types,
        pools: HashMap::new(),
        events: Vec::new(),
    };

    let mut at = header.checkpoint;
    loop {
        let offset = usize::try_from(at).map_err(|e| format!("checkpoint offset: {e}"))?;
        let delta = chunk.read_checkpoint(event_at(bytes, offset)?)?;
        if delta == 0 {
            break;
        }
        if delta > 0 {
            return Err(format!("checkpoint at {at} points forward by {delta}"));
        }
        at += delta;
    }

    let mut at = LEN;
    while at < bytes.len() {
        let event = event_at(bytes, at)?;
        let mut cursor = Cursor {
            bytes: event,
            at: 0,
        };
        cursor.varint()?;
        let id = cursor.varint()?;
        if let Some(declared) = chunk.types.get(&id).filter(|t| t.event) {
            let fields = chunk.fields(declared, &mut cursor)?;
            if cursor.at != event.len() {
                return Err(format!(
                    "event at {at} has {} bytes too many",
                    event.len() - cursor.at
                ));
            }
            for (_, value) in &fields {
                chunk.check_keys(value, &mut Vec::new())?;
            }
            chunk.events.push((declared.name.clone(), fields));
        }
        at += event.len();
    }
    Ok(chunk)
}

fn event_at(bytes: &[u8], at: usize) -> Checked<&[u8]> {
    let (size, len) = bytes
        .get(at..)
        .and_then(varint::get_u64)
        .ok_or_else(|| format!("no event at {at}"))?;
    let size = usize::try_from(size).map_err(|e| e.to_string())?;
    if size <= len || at + size > bytes.len() {
        return Err(format!("event at {at} has size {size}"));
    }
    Ok(&bytes[at..at + size])
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn varint(&mut self) -> Checked<u64> {
        let (value, len) = self
            .bytes
            .get(self.at..)
            .and_then(varint::get_u64)
            .ok_or("cut varint")?;
        self.at += len;
        Ok(value)
    }

    fn take(&mut self, len: usize) -> Checked<&[u8]> {
        let taken = self.bytes.get(self.at..self.at + len).ok_or("cut value")?;
        self.at += len;
        Ok(taken)
    }

    fn text(&mut self) -> Checked<Option<String>> {
        match self.take(1)?[0] {
            0 => Ok(None),
            1 => Ok(Some(String::new())),
            3 => {
                let len = usize::try_from(self.varint()?).map_err(|e| e.to_string())?;
                String::from_utf8(self.take(len)?.to_vec())
                    .map(Some)
                    .map_err(|e| e.to_string())
            }
            other => Err(format!("string encoding {other} in metadata or pool")),
        }
    }
}

fn read_metadata(event: &[u8]) -> Checked<HashMap<u64, Type>> {
    let mut cursor = Cursor {
        bytes: event,
        at: 0,
    };
    cursor.varint()?;
    if cursor.varint()? != 0 {
        return Err("the metadata offset leads to another event".into());
    }
    cursor.varint()?;
    cursor.varint()?;
    if cursor.varint()? >> 63 != 0 {
        return Err("metadata id is negative".into());
    }
    let count = cursor.varint()?;
    let strings: Vec<String> = (0..count)
        .map(|_| cursor.text().map(Option::unwrap_or_default))
        .collect::<Checked<_>>()?;
    let mut types = HashMap::new();
    element(&mut cursor, &strings, &mut types, &mut None)?;
    if cursor.at != event.len() {
        return Err("metadata has bytes too many".into());
    }
    Ok(types)
}

fn element(
    cursor: &mut Cursor<'_>,
    strings: &[String],
    types: &mut HashMap<u64, Type>,
    open: &mut Option<(u64, Type)>,
) -> Checked<()> {
    let text = |cursor: &mut Cursor<'_>| -> Checked<String> {
        let at = usize::try_from(cursor.varint()?).map_err(|e| e.to_string())?;
        strings
            .get(at)
            .cloned()
            .ok_or_else(|| format!("string {at}"))
    };
    let name = text(cursor)?;
    let mut attributes = HashMap::new();
    for _ in 0..cursor.varint()? {
        let key = text(cursor)?;
        attributes.insert(key, text(cursor)?);
    }
    let number = |key: &str| {
        attributes
            .get(key)
            .and_then(|v| v.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let mut own = None;
    match name.as_str() {
        "class" => {
            own = Some((
                number("id"),
                Type {
                    name: attributes["name"].clone(),
                    event: attributes
                        .get("superType")
                        .is_some_and(|s| s == "jdk.jfr.Event"),
                    fields: Vec::new(),
                },
            ));
        }
        "field" => {
            if let Some((_, declared)) = open {
                declared.fields.push(Field {
                    name: attributes["name"].clone(),
                    type_id: number("class"),
                    pooled: attributes.get("constantPool").is_some_and(|v| v == "true"),
                    array: attributes.contains_key("dimension"),
                });
            }
        }
        _ => {}
    }
    let children = cursor.varint()?;
    let is_class = own.is_some();
    for _ in 0..children {
        if is_class {
            element(cursor, strings, types, &mut own)?;
        } else {
            element(cursor, strings, types, &mut None)?;
        }
    }
    if let Some((id, declared)) = own
        && types.insert(id, declared).is_some()
    {
        return Err(format!("type {id} is declared twice"));
    }
    Ok(())
}

impl Chunk {
    fn read_checkpoint(&mut self, event: &[u8]) -> Checked<i64> {
        let mut cursor = Cursor {
            bytes: event,
            at: 0,
        };
        cursor.varint()?;
        if cursor.varint()? != 1 {
            return Err("the checkpoint offset leads to another event".into());
        }
        cursor.varint()?;
        cursor.varint()?;
        let delta = cursor.varint()?.cast_signed();
        cursor.take(1)?;
        for _ in 0..cursor.varint()? {
            let id = cursor.varint()?;
            let declared = self
                .types
                .get(&id)
                .ok_or_else(|| format!("pool of unknown type {id}"))?;
            let count = cursor.varint()?;
            if count == 0 {
                return Err(format!("empty pool of {}", declared.name));
            }
            for _ in 0..count {
                let key = cursor.varint()?;
                let value = if declared.name == "java.lang.String" {
                    cursor.text()?.map_or(Val::Null, Val::Text)
                } else {
                    Val::Struct(self.fields(declared, &mut cursor)?)
                };
                if self.pools.insert((id, key), value).is_some() {
                    return Err(format!("key {key} of {} is given twice", declared.name));
                }
            }
        }
        if cursor.at != event.len() {
            return Err("checkpoint has bytes too many".into());
        }
        Ok(delta)
    }

    fn fields(&self, declared: &Type, cursor: &mut Cursor<'_>) -> Checked<Vec<(String, Val)>> {
        let mut out = Vec::new();
        for field in &declared.fields {
            let value = if field.array {
                let count = cursor.varint()?;
                Val::Array(
                    (0..count)
                        .map(|_| self.value(field, cursor))
                        .collect::<Checked<_>>()?,
                )
            } else {
                self.value(field, cursor)?
            };
            out.push((field.name.clone(), value));
        }
        Ok(out)
    }

    fn value(&self, field: &Field, cursor: &mut Cursor<'_>) -> Checked<Val> {
        if field.pooled {
            return Ok(Val::Key(field.type_id, cursor.varint()?));
        }
        let declared = self
            .types
            .get(&field.type_id)
            .ok_or_else(|| format!("type {}", field.type_id))?;
        Ok(match declared.name.as_str() {
            "long" => Val::Long(cursor.varint()?.cast_signed()),
            "int" => Val::Long(varint::to_i32(cursor.varint()?).into()),
            "short" => Val::Long(varint::to_i16(cursor.varint()?).into()),
            "boolean" => Val::Bool(cursor.take(1)?[0] != 0),
            "float" => Val::Double(f32::from_be_bytes(cursor.take(4)?.try_into().unwrap()).into()),
            "double" => Val::Double(f64::from_be_bytes(cursor.take(8)?.try_into().unwrap())),
            "java.lang.String" if cursor.bytes.get(cursor.at) == Some(&2) => {
                cursor.take(1)?;
                Val::Key(field.type_id, cursor.varint()?)
            }
            "java.lang.String" => cursor.text()?.map_or(Val::Null, Val::Text),
            _ => Val::Struct(self.fields(declared, cursor)?),
        })
    }

    /// Every key that `value` leads to is in this chunk, and no path is endless.
    fn check_keys(&self, value: &Val, seen: &mut Vec<(u64, u64)>) -> Checked<()> {
        match value {
            Val::Key(_, 0) => Ok(()),
            Val::Key(id, key) => {
                if seen.contains(&(*id, *key)) {
                    return Ok(());
                }
                let constant = self.pools.get(&(*id, *key)).ok_or_else(|| {
                    let name = self.types.get(id).map(|t| t.name.clone());
                    format!("key {key} of {name:?} is not in the chunk")
                })?;
                seen.push((*id, *key));
                self.check_keys(constant, seen)
            }
            Val::Struct(fields) => fields
                .iter()
                .try_for_each(|(_, v)| self.check_keys(v, seen)),
            Val::Array(values) => values.iter().try_for_each(|v| self.check_keys(v, seen)),
            _ => Ok(()),
        }
    }

    /// What a key stands for; any other value is itself.
    pub fn resolve<'a>(&'a self, value: &'a Val) -> &'a Val {
        match value {
            Val::Key(id, key) => self.pools.get(&(*id, *key)).unwrap_or(&Val::Null),
            other => other,
        }
    }

    /// A field of a struct or event, resolved.
    pub fn get<'a>(&'a self, fields: &'a [(String, Val)], name: &str) -> &'a Val {
        fields
            .iter()
            .find(|(known, _)| known == name)
            .map_or(&Val::Null, |(_, v)| self.resolve(v))
    }

    fn text(&self, fields: &[(String, Val)], name: &str) -> Option<String> {
        match self.get(fields, name) {
            Val::Text(text) => Some(text.clone()),
            // A symbol: a struct with one text.
            Val::Struct(inner) => self
                .text(inner, "string")
                .or_else(|| self.text(inner, "description")),
            _ => None,
        }
    }

    fn long(&self, fields: &[(String, Val)], name: &str) -> i64 {
        match self.get(fields, name) {
            Val::Long(long) => *long,
            Val::Bool(flag) => i64::from(*flag),
            _ => 0,
        }
    }

    fn class(&self, value: &Val) -> Option<Arc<ClassInfo>> {
        let Val::Struct(fields) = value else {
            return None;
        };
        let loader = match self.get(fields, "classLoader") {
            Val::Struct(loader) => Some(Arc::new(LoaderInfo {
                class_name: self
                    .class(self.get(loader, "type"))
                    .map_or(String::new(), |c| c.name.clone()),
                name: self.text(loader, "name"),
            })),
            _ => None,
        };
        let module = match self.get(fields, "package") {
            Val::Struct(package) => match self.get(package, "module") {
                Val::Struct(module) => self.text(module, "name"),
                _ => None,
            },
            _ => None,
        };
        Some(Arc::new(ClassInfo {
            name: self
                .text(fields, "name")
                .unwrap_or_default()
                .replace('/', "."),
            modifiers: i32::try_from(self.long(fields, "modifiers")).unwrap(),
            hidden: self.long(fields, "hidden") != 0,
            loader,
            module,
            handle: 0,
        }))
    }

    /// The event as one of ours; `None` for a foreign type.
    pub fn ours(&self, name: &str, fields: &[(String, Val)]) -> Option<AnyEvent> {
        AnyEvent::decode(
            name,
            &Decoded {
                chunk: self,
                fields,
            },
        )
    }
}

struct Decoded<'a> {
    chunk: &'a Chunk,
    fields: &'a [(String, Val)],
}

impl FieldSource for Decoded<'_> {
    fn long(&self, name: &str) -> Option<i64> {
        match self.chunk.get(self.fields, name) {
            Val::Long(long) => Some(*long),
            _ => None,
        }
    }

    fn double(&self, name: &str) -> Option<f64> {
        match self.chunk.get(self.fields, name) {
            Val::Double(double) => Some(*double),
            _ => None,
        }
    }

    fn boolean(&self, name: &str) -> Option<bool> {
        match self.chunk.get(self.fields, name) {
            Val::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    fn text(&self, name: &str) -> Option<String> {
        self.chunk.text(self.fields, name)
    }

    fn class(&self, name: &str) -> Option<Arc<ClassInfo>> {
        self.chunk.class(self.chunk.get(self.fields, name))
    }

    fn thread(&self, name: &str) -> Option<Arc<ThreadInfo>> {
        let chunk = self.chunk;
        let Val::Struct(fields) = chunk.get(self.fields, name) else {
            return None;
        };
        let group = match chunk.get(fields, "group") {
            Val::Struct(group) => chunk.text(group, "name"),
            _ => None,
        };
        Some(Arc::new(ThreadInfo {
            os_name: chunk.text(fields, "osName"),
            os_thread_id: chunk.long(fields, "osThreadId"),
            java_name: chunk.text(fields, "javaName"),
            java_thread_id: chunk.long(fields, "javaThreadId"),
            group,
            is_virtual: chunk.long(fields, "virtual") != 0,
            handle: 0,
        }))
    }

    fn stack(&self, name: &str) -> Option<Arc<StackInfo>> {
        let chunk = self.chunk;
        let Val::Struct(fields) = chunk.get(self.fields, name) else {
            return None;
        };
        let Val::Array(frames) = chunk.get(fields, "frames") else {
            return None;
        };
        let optional = |long: i64| i32::try_from(long).ok().filter(|n| *n >= 0);
        let frames = frames.iter().map(|frame| {
            let Val::Struct(frame) = frame else {
                panic!("a frame is no struct")
            };
            let Val::Struct(method) = chunk.get(frame, "method") else {
                panic!("no method")
            };
            FrameInfo {
                method: Arc::new(MethodInfo {
                    class: chunk.class(chunk.get(method, "type")).unwrap(),
                    name: chunk.text(method, "name").unwrap_or_default(),
                    descriptor: chunk.text(method, "descriptor").unwrap_or_default(),
                    modifiers: i32::try_from(chunk.long(method, "modifiers")).unwrap(),
                    hidden: chunk.long(method, "hidden") != 0,
                }),
                line: optional(chunk.long(frame, "lineNumber")),
                bytecode_index: optional(chunk.long(frame, "bytecodeIndex")),
                kind: FrameKind::from_text(&chunk.text(frame, "type").unwrap_or_default()),
            }
        });
        Some(Arc::new(StackInfo {
            frames: frames.collect(),
            truncated: chunk.long(fields, "truncated") != 0,
        }))
    }
}
