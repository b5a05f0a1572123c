//! What a metadata event says, as values: types, fields, annotations and settings.
//!
//! The encoding (string table and element tree) belongs to the writer and the reader. A reader may
//! meet ids that are declared twice, not at all, or in a cycle: this model holds them as they came.

/// The content of one metadata event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Types in the order of the file.
    pub types: Vec<TypeDef>,
    /// Locale and time zone of the recorded process.
    pub region: Region,
}

/// Locale and time zone of the recorded process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Locale tag, such as `en_US`.
    pub locale: Option<String>,
    /// Offset of the local time from UTC without daylight saving, ms.
    pub gmt_offset_millis: i64,
    /// Additional daylight-saving offset, ms.
    pub dst_millis: i64,
}

/// One declared type: a primitive, a class, an event or an annotation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeDef {
    /// Id that pools, events and fields refer to.
    pub id: u64,
    /// Name, such as `jdk.OldObjectSample` or `int`.
    pub name: String,
    /// Name of the super type; exactly `jdk.jfr.Event` for an event.
    pub super_type: Option<String>,
    /// Whether a value of this type shows as the value of its only field.
    pub simple: bool,
    /// Fields in wire order.
    pub fields: Vec<FieldDef>,
    /// Annotations of the type: label, description, category ...
    pub annotations: Vec<AnnotationDef>,
    /// Settings of an event type, with their defaults.
    pub settings: Vec<SettingDef>,
}

impl TypeDef {
    /// Whether values of this type are events.
    #[must_use]
    pub fn is_event(&self) -> bool {
        self.super_type.as_deref() == Some(crate::ids::EVENT_SUPER_TYPE)
    }
}

/// One field of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldDef {
    /// Name as in the file.
    pub name: String,
    /// Id of the field's type.
    pub type_id: u64,
    /// Whether the value is a key into the type's constant pool.
    pub pooled: bool,
    /// Whether a count and that many values stand in its place.
    pub array: bool,
    /// Annotations of the field: label, unit ...
    pub annotations: Vec<AnnotationDef>,
}

/// An annotation's type and its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnotationDef {
    /// Id of the annotation's type.
    pub type_id: u64,
    /// Attributes: (`value`, ...) or (`value-0`, ...), (`value-1`, ...) for an array.
    pub values: Vec<(String, String)>,
}

impl AnnotationDef {
    /// The single value, or the first of an array.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.values
            .iter()
            .find(|(name, _)| name == "value" || name == "value-0")
            .map(|(_, value)| value.as_str())
    }
}

/// A setting that an event type offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingDef {
    /// Name, such as `threshold`.
    pub name: String,
    /// Id of the setting's type.
    pub type_id: u64,
    /// Value that holds when no recording sets one.
    pub default_value: String,
}
