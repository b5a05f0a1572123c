//! What a field holds and how it is shown.

/// The kind of a field: its wire type and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A number.
    Long,
    /// A number of 32 bits.
    Int,
    /// A number of 16 bits.
    Short,
    /// A number.
    Float,
    /// A number.
    Double,
    /// True or false.
    Boolean,
    /// Text.
    Text,
    /// Text that recurs, such as the name of a class: pooled where the recording has pools.
    Name,
    /// A class.
    Class,
    /// A thread.
    Thread,
    /// A stack trace; text where the recording allows no stack trace as a field.
    StackTrace,
    /// A length of time, ns.
    Timespan,
    /// A point in time, ms since the epoch.
    Timestamp,
    /// An amount of data, bytes.
    DataAmount,
    /// A share, 0 to 1.
    Percentage,
}

impl Kind {
    /// The type in a chunk's metadata.
    #[must_use]
    pub const fn type_name(self) -> &'static str {
        match self {
            Self::Long | Self::Timespan | Self::Timestamp | Self::DataAmount => "long",
            Self::Int => "int",
            Self::Short => "short",
            Self::Float | Self::Percentage => "float",
            Self::Double => "double",
            Self::Boolean => "boolean",
            Self::Text | Self::Name => "java.lang.String",
            Self::Class => "java.lang.Class",
            Self::Thread => "java.lang.Thread",
            Self::StackTrace => "jdk.types.StackTrace",
        }
    }

    /// The class object that `jdk.jfr.ValueDescriptor` takes: a primitive's name or a class name.
    ///
    /// A stack trace is no legal field of an `EventFactory` type, so its text takes its place.
    #[must_use]
    pub const fn factory_type(self) -> &'static str {
        match self {
            Self::StackTrace => "java.lang.String",
            other => other.type_name(),
        }
    }

    /// Whether the value in a chunk is a key into the type's constant pool.
    #[must_use]
    pub const fn is_pooled(self) -> bool {
        matches!(self, Self::Class | Self::Thread | Self::StackTrace)
    }

    /// The annotation that names the unit: its type and its value, an empty one for none.
    #[must_use]
    pub const fn unit(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Timespan => Some(("jdk.jfr.Timespan", "NANOSECONDS")),
            Self::Timestamp => Some(("jdk.jfr.Timestamp", "MILLISECONDS_SINCE_EPOCH")),
            Self::DataAmount => Some(("jdk.jfr.DataAmount", "BYTES")),
            Self::Percentage => Some(("jdk.jfr.Percentage", "")),
            _ => None,
        }
    }
}
