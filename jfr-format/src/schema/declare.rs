//! The macro that turns a declaration into struct, schema and both directions.

macro_rules! declare_events {
    ($(
        $event:ident, $label:literal, $description:literal {
            $( $field:ident : $type:ty = $name:literal, $field_label:literal, $field_description:literal; )+
        }
    )+) => {
        $(
            #[doc = concat!($label, ": ", $description)]
            #[derive(Clone, Debug, Default, PartialEq)]
            pub struct $event {
                $(
                    #[doc = $field_description]
                    pub $field: $type,
                )+
            }

            impl Event for $event {
                const SCHEMA: &'static EventSchema = &EventSchema {
                    name: concat!("jfrchains.", stringify!($event)),
                    label: $label,
                    description: $description,
                    fields: &[$(
                        FieldSpec {
                            name: $name,
                            kind: <$type as FieldType>::KIND,
                            label: $field_label,
                            description: $field_description,
                        },
                    )+],
                };

                fn visit<S: FieldSink + ?Sized>(&self, sink: &mut S) {
                    let mut specs = Self::SCHEMA.fields.iter();
                    $(
                        if let Some(spec) = specs.next() {
                            sink.field(spec, self.$field.value());
                        }
                    )+
                }

                fn decode(source: &(impl FieldSource + ?Sized)) -> Self {
                    Self { $( $field: <$type as FieldType>::take(source, $name), )+ }
                }
            }
        )+

        /// Every event type, in the order of declaration.
        pub(super) const ALL: &[&EventSchema] = &[$( $event::SCHEMA, )+];

        declare_any_event!($($event),+);
    };
}
pub(super) use declare_events;
