//! The JVM's own types that we write, laid out as its metadata declares them.
//!
//! A chain is a [`OLD_OBJECT_SAMPLE`] whose `object` is the leaf; every `jdk.types.OldObject`
//! refers to the `jdk.types.Reference` by which it is held, and that to the holder. The JDK's
//! tools print such linked constants hop by hop, and JDK Mission Control shows them on its live-objects
//! page; any array or struct of our own would end their run over the whole file. `address` needs its
//! annotation and the event its `arrayElements`: the printer asks for both.
//! Source: `jfr metadata` of JDK 17 and 25.

/// One type of the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Type name.
    pub name: &'static str,
    /// Label for people, empty for a primitive.
    pub label: &'static str,
    /// Whether a value shows as the value of its only field.
    pub simple: bool,
    /// Fields in wire order.
    pub fields: &'static [LayoutField],
}

/// One field of a type of the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutField {
    /// Field name.
    pub name: &'static str,
    /// Name of its type.
    pub type_name: &'static str,
    /// Whether the value is a key into the type's pool.
    pub pooled: bool,
    /// Whether it is an array.
    pub array: bool,
    /// Label for people.
    pub label: &'static str,
    /// Annotations beside the label: type name and value, an empty one for none.
    pub annotations: &'static [(&'static str, &'static str)],
}

const UNSIGNED: (&str, &str) = ("jdk.jfr.Unsigned", "");
const ADDRESS: (&str, &str) = ("jdk.jfr.MemoryAddress", "");
const BYTES: (&str, &str) = ("jdk.jfr.DataAmount", "BYTES");
const TICK_TIME: (&str, &str) = ("jdk.jfr.Timestamp", "TICKS");
const TICK_SPAN: (&str, &str) = ("jdk.jfr.Timespan", "TICKS");

const fn plain(name: &'static str, type_name: &'static str, label: &'static str) -> LayoutField {
    LayoutField {
        name,
        type_name,
        pooled: false,
        array: false,
        label,
        annotations: &[],
    }
}

const fn pooled(name: &'static str, type_name: &'static str, label: &'static str) -> LayoutField {
    LayoutField {
        name,
        type_name,
        pooled: true,
        array: false,
        label,
        annotations: &[],
    }
}

const fn unit(
    name: &'static str,
    type_name: &'static str,
    label: &'static str,
    annotations: &'static [(&'static str, &'static str)],
) -> LayoutField {
    LayoutField {
        name,
        type_name,
        pooled: false,
        array: false,
        label,
        annotations,
    }
}

const fn primitive(name: &'static str) -> Layout {
    Layout {
        name,
        label: "",
        simple: false,
        fields: &[],
    }
}

/// The primitive types and `java.lang.String`: their values have no fields.
pub const PRIMITIVES: &[Layout] = &[
    primitive("boolean"),
    primitive("byte"),
    primitive("char"),
    primitive("short"),
    primitive("int"),
    primitive("long"),
    primitive("float"),
    primitive("double"),
    primitive("java.lang.String"),
];

/// Symbols: names of classes, methods, packages.
pub const SYMBOL: Layout = Layout {
    name: "jdk.types.Symbol",
    label: "Symbol",
    simple: true,
    fields: &[plain("string", "java.lang.String", "String")],
};

/// Classes.
pub const CLASS: Layout = Layout {
    name: "java.lang.Class",
    label: "Java Class",
    simple: false,
    fields: &[
        pooled("classLoader", "jdk.types.ClassLoader", "Class Loader"),
        pooled("name", "jdk.types.Symbol", "Name"),
        pooled("package", "jdk.types.Package", "Package"),
        plain("modifiers", "int", "Access Modifiers"),
        plain("hidden", "boolean", "Hidden"),
    ],
};

/// Packages.
pub const PACKAGE: Layout = Layout {
    name: "jdk.types.Package",
    label: "Package",
    simple: false,
    fields: &[
        pooled("name", "jdk.types.Symbol", "Name"),
        pooled("module", "jdk.types.Module", "Module"),
        plain("exported", "boolean", "Exported"),
    ],
};

/// Modules.
pub const MODULE: Layout = Layout {
    name: "jdk.types.Module",
    label: "Module",
    simple: false,
    fields: &[
        pooled("name", "jdk.types.Symbol", "Name"),
        pooled("version", "jdk.types.Symbol", "Version"),
        pooled("location", "jdk.types.Symbol", "Location"),
        pooled("classLoader", "jdk.types.ClassLoader", "Class Loader"),
    ],
};

/// Class loaders.
pub const CLASS_LOADER: Layout = Layout {
    name: "jdk.types.ClassLoader",
    label: "Java Class Loader",
    simple: false,
    fields: &[
        pooled("type", "java.lang.Class", "Type"),
        pooled("name", "jdk.types.Symbol", "Name"),
    ],
};

/// Methods.
pub const METHOD: Layout = Layout {
    name: "jdk.types.Method",
    label: "Java Method",
    simple: false,
    fields: &[
        pooled("type", "java.lang.Class", "Type"),
        pooled("name", "jdk.types.Symbol", "Name"),
        pooled("descriptor", "jdk.types.Symbol", "Descriptor"),
        plain("modifiers", "int", "Access Modifiers"),
        plain("hidden", "boolean", "Hidden"),
    ],
};

/// How a frame was executed.
pub const FRAME_TYPE: Layout = Layout {
    name: "jdk.types.FrameType",
    label: "Frame type",
    simple: true,
    fields: &[plain("description", "java.lang.String", "Description")],
};

/// Thread states. No event of ours has one, but Grafana's reader refuses a chunk that does not
/// declare them.
pub const THREAD_STATE: Layout = Layout {
    name: "jdk.types.ThreadState",
    label: "Java Thread State",
    simple: true,
    fields: &[plain("name", "java.lang.String", "Name")],
};

/// Frames, written inside their stack trace.
pub const STACK_FRAME: Layout = Layout {
    name: "jdk.types.StackFrame",
    label: "",
    simple: false,
    fields: &[
        pooled("method", "jdk.types.Method", "Java Method"),
        plain("lineNumber", "int", "Line Number"),
        plain("bytecodeIndex", "int", "Bytecode Index"),
        pooled("type", "jdk.types.FrameType", "Frame Type"),
    ],
};

/// Stack traces.
pub const STACK_TRACE: Layout = Layout {
    name: "jdk.types.StackTrace",
    label: "Stacktrace",
    simple: false,
    fields: &[
        plain("truncated", "boolean", "Truncated"),
        LayoutField {
            name: "frames",
            type_name: "jdk.types.StackFrame",
            pooled: false,
            array: true,
            label: "Stack Frames",
            annotations: &[],
        },
    ],
};

/// Thread groups.
pub const THREAD_GROUP: Layout = Layout {
    name: "jdk.types.ThreadGroup",
    label: "Thread Group",
    simple: false,
    fields: &[
        pooled("parent", "jdk.types.ThreadGroup", "Parent"),
        plain("name", "java.lang.String", "Name"),
    ],
};

/// Threads.
pub const THREAD: Layout = Layout {
    name: "java.lang.Thread",
    label: "Thread",
    simple: false,
    fields: &[
        plain("osName", "java.lang.String", "OS Thread Name"),
        plain("osThreadId", "long", "OS Thread Id"),
        plain("javaName", "java.lang.String", "Java Thread Name"),
        plain("javaThreadId", "long", "Java Thread Id"),
        pooled("group", "jdk.types.ThreadGroup", "Java Thread Group"),
        plain("virtual", "boolean", "Virtual Thread"),
    ],
};

/// Which part of the JVM a root belongs to.
pub const OLD_OBJECT_ROOT_SYSTEM: Layout = Layout {
    name: "jdk.types.OldObjectRootSystem",
    label: "GC Root System",
    simple: true,
    fields: &[plain("system", "java.lang.String", "System")],
};

/// What kind of root it is.
pub const OLD_OBJECT_ROOT_TYPE: Layout = Layout {
    name: "jdk.types.OldObjectRootType",
    label: "GC Root Type",
    simple: true,
    fields: &[plain("type", "java.lang.String", "Type")],
};

/// GC roots.
pub const OLD_OBJECT_GC_ROOT: Layout = Layout {
    name: "jdk.types.OldObjectGcRoot",
    label: "GC Root",
    simple: false,
    fields: &[
        plain("description", "java.lang.String", "Root Description"),
        pooled("system", "jdk.types.OldObjectRootSystem", "System"),
        pooled("type", "jdk.types.OldObjectRootType", "Type"),
    ],
};

/// The array slot through which an object is held.
pub const OLD_OBJECT_ARRAY: Layout = Layout {
    name: "jdk.types.OldObjectArray",
    label: "Old Object Array",
    simple: false,
    fields: &[
        plain("size", "int", "Array Size"),
        plain("index", "int", "Index"),
    ],
};

/// The field through which an object is held.
///
/// The JVM declares the modifiers as a `short`. The bytes are the same, and one reader
/// (Grafana's) knows no `short` in a constant and gives up on the whole file.
pub const OLD_OBJECT_FIELD: Layout = Layout {
    name: "jdk.types.OldObjectField",
    label: "Old Object Field",
    simple: false,
    fields: &[
        plain("name", "java.lang.String", "Field"),
        plain("modifiers", "int", "Field Modifiers"),
    ],
};

/// An object of a chain.
pub const OLD_OBJECT: Layout = Layout {
    name: "jdk.types.OldObject",
    label: "Old Object",
    simple: false,
    fields: &[
        unit("address", "long", "Memory Address", &[UNSIGNED, ADDRESS]),
        pooled("type", "java.lang.Class", "Java Class"),
        plain("description", "java.lang.String", "Object Description"),
        pooled("referrer", "jdk.types.Reference", "Referrer Object"),
    ],
};

/// The reference that holds an object of a chain.
pub const REFERENCE: Layout = Layout {
    name: "jdk.types.Reference",
    label: "Reference",
    simple: false,
    fields: &[
        pooled("array", "jdk.types.OldObjectArray", "Array Information"),
        pooled("field", "jdk.types.OldObjectField", "Field Information"),
        pooled("object", "jdk.types.OldObject", "Object"),
        plain("skip", "int", "Skip Value"),
    ],
};

/// Every type that values of ours refer to, primitives apart.
pub const TYPES: &[Layout] = &[
    SYMBOL,
    CLASS,
    PACKAGE,
    MODULE,
    CLASS_LOADER,
    METHOD,
    FRAME_TYPE,
    STACK_FRAME,
    STACK_TRACE,
    THREAD_GROUP,
    THREAD,
    OLD_OBJECT_ROOT_SYSTEM,
    OLD_OBJECT_ROOT_TYPE,
    OLD_OBJECT_GC_ROOT,
    OLD_OBJECT_ARRAY,
    OLD_OBJECT_FIELD,
    OLD_OBJECT,
    REFERENCE,
    THREAD_STATE,
];

/// The field of [`OLD_OBJECT_SAMPLE`] that JDK 17 does not have.
pub const OBJECT_SIZE: &str = "objectSize";

/// The JVM's leak-sample event, in which a chain is shown to the JDK's tools.
pub const OLD_OBJECT_SAMPLE: Layout = Layout {
    name: "jdk.OldObjectSample",
    label: "Old Object Sample",
    simple: false,
    fields: &[
        unit("startTime", "long", "Start Time", &[TICK_TIME]),
        unit("duration", "long", "Duration", &[TICK_SPAN]),
        pooled("eventThread", "java.lang.Thread", "Event Thread"),
        pooled("stackTrace", "jdk.types.StackTrace", "Stack Trace"),
        unit("allocationTime", "long", "Allocation Time", &[TICK_TIME]),
        unit(OBJECT_SIZE, "long", "Object Size", &[UNSIGNED, BYTES]),
        unit("objectAge", "long", "Object Age", &[UNSIGNED, TICK_SPAN]),
        unit(
            "lastKnownHeapUsage",
            "long",
            "Last Known Heap Usage",
            &[UNSIGNED, BYTES],
        ),
        pooled("object", "jdk.types.OldObject", "Object"),
        plain("arrayElements", "int", "Array Elements"),
        pooled("root", "jdk.types.OldObjectGcRoot", "GC Root"),
    ],
};

/// The category of [`OLD_OBJECT_SAMPLE`].
pub const OLD_OBJECT_SAMPLE_CATEGORY: [&str; 2] = ["Java Virtual Machine", "Profiling"];

/// The first field of every event, ticks.
pub const START_TIME: LayoutField = unit("startTime", "long", "Start Time", &[TICK_TIME]);

/// Annotation types that declarations use, each with whether it has a value and whether that is an array.
pub const ANNOTATIONS: &[(&str, AnnotationValue)] = &[
    ("jdk.jfr.Label", AnnotationValue::One),
    ("jdk.jfr.Description", AnnotationValue::One),
    ("jdk.jfr.Category", AnnotationValue::Array),
    ("jdk.jfr.Timestamp", AnnotationValue::One),
    ("jdk.jfr.Timespan", AnnotationValue::One),
    ("jdk.jfr.DataAmount", AnnotationValue::One),
    ("jdk.jfr.Percentage", AnnotationValue::None),
    ("jdk.jfr.MemoryAddress", AnnotationValue::None),
    ("jdk.jfr.Unsigned", AnnotationValue::None),
    ("jdk.jfr.ContentType", AnnotationValue::None),
];

/// The annotation that makes another one a unit: readers look for it on the annotation's type.
pub const CONTENT_TYPE: &str = "jdk.jfr.ContentType";

/// The annotations that are units.
pub const UNITS: &[&str] = &[
    "jdk.jfr.Timestamp",
    "jdk.jfr.Timespan",
    "jdk.jfr.DataAmount",
    "jdk.jfr.Percentage",
    "jdk.jfr.MemoryAddress",
    "jdk.jfr.Unsigned",
];

/// What an annotation type's `value` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnotationValue {
    /// It has none.
    None,
    /// One string.
    One,
    /// An array of strings.
    Array,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_declared_type() {
        let known = |name: &str| {
            PRIMITIVES
                .iter()
                .chain(TYPES)
                .any(|layout| layout.name == name)
        };
        for layout in TYPES.iter().chain([&OLD_OBJECT_SAMPLE]) {
            for field in layout.fields {
                assert!(known(field.type_name), "{}.{}", layout.name, field.name);
                for (annotation, _) in field.annotations {
                    assert!(ANNOTATIONS.iter().any(|(name, _)| name == annotation));
                }
            }
        }
    }

    #[test]
    fn the_printer_finds_what_it_asks_an_old_object_sample_for() {
        let field =
            |layout: &Layout, name: &str| layout.fields.iter().find(|f| f.name == name).copied();
        assert_eq!(
            field(&OLD_OBJECT_SAMPLE, "arrayElements")
                .unwrap()
                .type_name,
            "int"
        );
        assert!(
            field(&OLD_OBJECT, "address")
                .unwrap()
                .annotations
                .contains(&ADDRESS)
        );
        assert_eq!(OLD_OBJECT_SAMPLE.fields.first(), Some(&START_TIME));
    }
}
