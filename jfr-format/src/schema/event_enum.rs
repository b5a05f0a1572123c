//! The macro for one value of any event type, for queues and caches.

macro_rules! declare_any_event {
    ($($event:ident),+) => {
        /// An event of any of our types.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum AnyEvent {
            $(
                #[doc = concat!("A [`", stringify!($event), "`].")]
                $event($event),
            )+
        }

        impl AnyEvent {
            /// The event's type.
            #[must_use]
            pub fn schema(&self) -> &'static EventSchema {
                match self {
                    $( Self::$event(_) => $event::SCHEMA, )+
                }
            }

            /// Hands every field to `sink`, in order.
            pub fn visit<S: FieldSink + ?Sized>(&self, sink: &mut S) {
                match self {
                    $( Self::$event(event) => event.visit(sink), )+
                }
            }

            /// The event of type `name` that `source` holds, `None` when the type is not ours.
            pub fn decode(name: &str, source: &(impl FieldSource + ?Sized)) -> Option<Self> {
                $(
                    if name == $event::SCHEMA.name {
                        return Some(Self::$event($event::decode(source)));
                    }
                )+
                None
            }
        }

        $(
            impl From<$event> for AnyEvent {
                fn from(event: $event) -> Self {
                    Self::$event(event)
                }
            }
        )+
    };
}
pub(super) use declare_any_event;
