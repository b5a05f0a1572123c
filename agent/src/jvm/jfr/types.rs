//! Our event types in `jdk.jfr`, made by EventFactory from the declared schemas.

use std::ffi::{CStr, CString};
use std::sync::{Mutex, PoisonError};

use jfr_format::schema::{
    self, AnyEvent, EventSchema, FieldSink, FieldSpec, Kind, Value as FieldValue,
};

use super::Live;
use super::boxes::Boxes;
use crate::jvm::env::raw_jni::jvalue;
use crate::jvm::env::{Global, Jni, JvmError, MethodId, Obj};

/// Types that an earlier start has made and taken back. The JVM never unloads an event class: types made anew by each
/// start would stay for ever, and so a restart registers these again. Their references are the only ones that outlive
/// a stop.
static MADE: Mutex<Vec<EventType>> = Mutex::new(Vec::new());

/// Every event type of ours, registered while this value lives.
#[derive(Debug)]
pub(super) struct EventTypes {
    types: Vec<EventType>,
    boxes: Boxes,
    methods: Methods,
}

#[derive(Debug)]
struct EventType {
    schema: &'static EventSchema,
    factory: Global,
    event_type: Global,
}

#[derive(Debug)]
struct Methods {
    is_enabled: MethodId,
    new_event: MethodId,
    set: MethodId,
    commit: MethodId,
    register: MethodId,
    unregister: MethodId,
}

impl EventTypes {
    /// Makes and registers all of them. JFR must be initialised: this would do it.
    pub(super) fn make(jni: &Jni<'_>) -> Result<Self, JvmError> {
        jni.frame(64, |jni| {
            let factory = jni.find_class(c"jdk/jfr/EventFactory")?;
            let event_type = jni.find_class(c"jdk/jfr/EventType")?;
            let event = jni.find_class(c"jdk/jfr/Event")?;
            let methods = Methods {
                is_enabled: jni.method(&event_type, c"isEnabled", c"()Z")?,
                new_event: jni.method(&factory, c"newEvent", c"()Ljdk/jfr/Event;")?,
                set: jni.method(&event, c"set", c"(ILjava/lang/Object;)V")?,
                commit: jni.method(&event, c"commit", c"()V")?,
                register: jni.method(&factory, c"register", c"()V")?,
                unregister: jni.method(&factory, c"unregister", c"()V")?,
            };
            let boxes = Boxes::find(jni)?;
            let maker = Maker::find(jni)?;
            let mut this = Self {
                types: Vec::new(),
                boxes,
                methods,
            };
            for schema in schema::all() {
                let made = jni.frame(256, |jni| match made_before(schema) {
                    Some(one) => this.register(jni, one),
                    None => maker.event_type(jni, schema, &this.boxes),
                });
                match made {
                    Ok(Ok(made)) => this.types.push(made),
                    Ok(Err(error)) | Err(error) => {
                        this.close(jni, true);
                        return Err(error);
                    }
                }
            }
            Ok(this)
        })?
    }

    /// Registers a type that was taken back; one that cannot be is kept all the same.
    fn register(&self, jni: &Jni<'_>, one: EventType) -> Result<EventType, JvmError> {
        // SAFETY: EventFactory.register takes nothing.
        let registered =
            unsafe { jni.call_void(&one.factory.as_obj(), self.methods.register, &[]) };
        match registered {
            Ok(()) => Ok(one),
            Err(error) => {
                keep(one);
                Err(error)
            }
        }
    }

    /// Whether some recording has one of them enabled.
    pub(super) fn any_enabled(&self, jni: &Jni<'_>) -> bool {
        self.types.iter().any(|one| self.is_enabled(jni, one))
    }

    fn is_enabled(&self, jni: &Jni<'_>, one: &EventType) -> bool {
        // SAFETY: a method of EventType without arguments that returns boolean.
        unsafe { jni.call_bool(&one.event_type.as_obj(), self.methods.is_enabled, &[]) }
            .unwrap_or(false)
    }

    /// Commits an event; false when its type is disabled everywhere.
    pub(super) fn commit(
        &self,
        jni: &Jni<'_>,
        event: &AnyEvent,
        live: &Live,
    ) -> Result<bool, JvmError> {
        let Some(one) = self.types.iter().find(|one| one.schema == event.schema()) else {
            return Ok(false);
        };
        if !self.is_enabled(jni, one) {
            return Ok(false);
        }
        jni.frame(64, |jni| {
            // SAFETY: EventFactory.newEvent takes nothing.
            let made =
                unsafe { jni.call_object(&one.factory.as_obj(), self.methods.new_event, &[]) }?;
            let made = made.ok_or(JvmError::Null("newEvent"))?;
            let mut setter = Setter {
                jni,
                event: &made,
                types: self,
                live,
                next: 0,
                result: Ok(()),
            };
            event.visit(&mut setter);
            setter.result?;
            // SAFETY: Event.commit takes nothing.
            unsafe { jni.call_void(&made, self.methods.commit, &[]) }?;
            Ok(true)
        })?
    }

    /// In a JVM that lives on, takes the types back and keeps them for the next start; else frees their references.
    pub(super) fn close(self, jni: &Jni<'_>, unregister: bool) {
        for one in self.types {
            if !unregister {
                jni.delete_global(one.factory);
                jni.delete_global(one.event_type);
                continue;
            }
            // SAFETY: EventFactory.unregister takes nothing.
            let gone =
                unsafe { jni.call_void(&one.factory.as_obj(), self.methods.unregister, &[]) };
            if let Err(error) = gone {
                crate::debug!("unregister: {error}");
            }
            keep(one);
        }
        self.boxes.close(jni);
    }
}

/// Takes the type of this schema that an earlier start has made.
fn made_before(schema: &'static EventSchema) -> Option<EventType> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let at = made.iter().position(|one| one.schema == schema)?;
    Some(made.swap_remove(at))
}

/// Keeps a type for the next start.
fn keep(one: EventType) {
    MADE.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(one);
}

/// Sets an event's fields one by one; the first failure stands.
struct Setter<'a, 'g> {
    jni: &'a Jni<'g>,
    event: &'a Obj<'g>,
    types: &'a EventTypes,
    live: &'a Live,
    next: i32,
    result: Result<(), JvmError>,
}

impl FieldSink for Setter<'_, '_> {
    fn field(&mut self, _: &'static FieldSpec, value: FieldValue<'_>) {
        let index = self.next;
        self.next += 1;
        if self.result.is_err() {
            return;
        }
        self.result = self
            .types
            .boxes
            .value(self.jni, value, self.live)
            .and_then(|value| {
                let args = [
                    crate::jvm::env::Value::Int(index),
                    crate::jvm::env::Value::Object(value.as_ref()),
                ];
                // SAFETY: Event.set takes an int and an object.
                let set = unsafe {
                    self.jni
                        .call_void(self.event, self.types.methods.set, &args)
                };
                if let Some(value) = value {
                    self.jni.delete(value);
                }
                set
            });
    }
}

/// Constructors that declarations need, within one local frame.
struct Maker<'g> {
    factory: Obj<'g>,
    create: MethodId,
    get_type: MethodId,
    annotation: Obj<'g>,
    annotation_plain: MethodId,
    annotation_value: MethodId,
    descriptor: Obj<'g>,
    descriptor_new: MethodId,
    list: Obj<'g>,
    list_new: MethodId,
    list_add: MethodId,
    string: Obj<'g>,
}

impl<'g> Maker<'g> {
    fn find(jni: &Jni<'g>) -> Result<Self, JvmError> {
        let factory = jni.find_class(c"jdk/jfr/EventFactory")?;
        let annotation = jni.find_class(c"jdk/jfr/AnnotationElement")?;
        let descriptor = jni.find_class(c"jdk/jfr/ValueDescriptor")?;
        let list = jni.find_class(c"java/util/ArrayList")?;
        let create = c"(Ljava/util/List;Ljava/util/List;)Ljdk/jfr/EventFactory;";
        let described = c"(Ljava/lang/Class;Ljava/lang/String;Ljava/util/List;)V";
        Ok(Self {
            create: jni.static_method(&factory, c"create", create)?,
            get_type: jni.method(&factory, c"getEventType", c"()Ljdk/jfr/EventType;")?,
            annotation_plain: jni.method(&annotation, c"<init>", c"(Ljava/lang/Class;)V")?,
            annotation_value: jni.method(
                &annotation,
                c"<init>",
                c"(Ljava/lang/Class;Ljava/lang/Object;)V",
            )?,
            descriptor_new: jni.method(&descriptor, c"<init>", described)?,
            list_new: jni.method(&list, c"<init>", c"()V")?,
            list_add: jni.method(&list, c"add", c"(Ljava/lang/Object;)Z")?,
            string: jni.find_class(c"java/lang/String")?,
            factory,
            annotation,
            descriptor,
            list,
        })
    }

    fn event_type(
        &self,
        jni: &Jni<'_>,
        schema: &'static EventSchema,
        boxes: &Boxes,
    ) -> Result<EventType, JvmError> {
        let annotations = self.new_list(jni)?;
        for (name, text) in [
            (c"jdk/jfr/Name", schema.name),
            (c"jdk/jfr/Label", schema.label),
            (c"jdk/jfr/Description", schema.description),
        ] {
            let text = jni.new_string(text)?;
            self.annotate(jni, &annotations, name, Some(&text))?;
        }
        let category = self.strings(jni, &schema::CATEGORY)?;
        self.annotate(jni, &annotations, c"jdk/jfr/Category", Some(&category))?;
        // The stack of the committing thread says nothing.
        let no = boxes.boolean(jni, false)?;
        self.annotate(jni, &annotations, c"jdk/jfr/StackTrace", Some(&no))?;

        let fields = self.new_list(jni)?;
        for field in schema.fields {
            let field = jni.frame(32, |jni| {
                let field = self.field(jni, field)?;
                self.add(jni, &fields, &field)
            });
            field??;
        }
        let args = [
            crate::jvm::env::Value::Object(Some(&annotations)),
            crate::jvm::env::Value::Object(Some(&fields)),
        ];
        // SAFETY: EventFactory.create takes two lists, getEventType nothing.
        let (factory, event_type) = unsafe {
            let factory = jni.call_static_object(&self.factory, self.create, &args)?;
            let factory = factory.ok_or(JvmError::Null("EventFactory.create"))?;
            let event_type = jni.call_object(&factory, self.get_type, &[])?;
            (factory, event_type.ok_or(JvmError::Null("getEventType"))?)
        };
        Ok(EventType {
            schema,
            factory: jni
                .new_global(&factory)
                .ok_or(JvmError::Null("NewGlobalRef"))?,
            event_type: jni
                .new_global(&event_type)
                .ok_or(JvmError::Null("NewGlobalRef"))?,
        })
    }

    fn field<'h>(&self, jni: &Jni<'h>, field: &FieldSpec) -> Result<Obj<'h>, JvmError> {
        let annotations = self.new_list(jni)?;
        for (name, text) in [
            (c"jdk/jfr/Label", field.label),
            (c"jdk/jfr/Description", field.description),
        ] {
            let text = jni.new_string(text)?;
            self.annotate(jni, &annotations, name, Some(&text))?;
        }
        if let Some((name, value)) = field.kind.unit() {
            let name = CString::new(name.replace('.', "/")).unwrap_or_default();
            let value = if value.is_empty() {
                None
            } else {
                Some(jni.new_string(value)?)
            };
            self.annotate(jni, &annotations, &name, value.as_ref())?;
        }
        let class = class_object(jni, field.kind)?;
        let name = jni.new_string(field.name)?;
        let args = [
            jvalue { l: class.raw() },
            jvalue { l: name.raw() },
            jvalue {
                l: annotations.raw(),
            },
        ];
        // SAFETY: ValueDescriptor(Class, String, List).
        unsafe { new_object(jni, &self.descriptor, self.descriptor_new, &args) }
    }

    /// Adds an annotation of type `name` with that value, or without one.
    fn annotate(
        &self,
        jni: &Jni<'_>,
        list: &Obj<'_>,
        name: &CStr,
        value: Option<&Obj<'_>>,
    ) -> Result<(), JvmError> {
        jni.frame(8, |jni| {
            let class = jni.find_class(name)?;
            let value = value.map_or(std::ptr::null_mut(), Obj::raw);
            let args = [jvalue { l: class.raw() }, jvalue { l: value }];
            let constructor = if value.is_null() {
                self.annotation_plain
            } else {
                self.annotation_value
            };
            // SAFETY: AnnotationElement(Class, Object), or with the first argument alone.
            let element = unsafe { new_object(jni, &self.annotation, constructor, &args) }?;
            self.add(jni, list, &element)
        })?
    }

    fn new_list<'h>(&self, jni: &Jni<'h>) -> Result<Obj<'h>, JvmError> {
        // SAFETY: ArrayList().
        unsafe { new_object(jni, &self.list, self.list_new, &[]) }
    }

    fn add(&self, jni: &Jni<'_>, list: &Obj<'_>, element: &Obj<'_>) -> Result<(), JvmError> {
        // SAFETY: ArrayList.add takes an object.
        unsafe {
            jni.call_bool(
                list,
                self.list_add,
                &[crate::jvm::env::Value::Object(Some(element))],
            )
        }?;
        Ok(())
    }

    fn strings<'h>(&self, jni: &Jni<'h>, texts: &[&str]) -> Result<Obj<'h>, JvmError> {
        let count =
            i32::try_from(texts.len()).map_err(|_| JvmError::OutOfMemory("NewObjectArray"))?;
        // SAFETY: a class reference; the answer is a fresh local reference.
        let array = unsafe {
            let raw = (jni.table().NewObjectArray)(
                jni.raw(),
                count,
                self.string.raw(),
                std::ptr::null_mut(),
            );
            Obj::from_raw(raw)
        };
        if jni.clear_exception() {
            return Err(JvmError::Exception("NewObjectArray"));
        }
        let array = array.ok_or(JvmError::Null("NewObjectArray"))?;
        for (at, text) in (0..).zip(texts) {
            let text = jni.new_string(text)?;
            // SAFETY: an index inside the array, a string in an array of strings.
            unsafe { (jni.table().SetObjectArrayElement)(jni.raw(), array.raw(), at, text.raw()) };
            if jni.clear_exception() {
                return Err(JvmError::Exception("SetObjectArrayElement"));
            }
            jni.delete(text);
        }
        Ok(array)
    }
}

/// The class object that stands for a kind: `long.class`, `String.class` ...
fn class_object<'g>(jni: &Jni<'g>, kind: Kind) -> Result<Obj<'g>, JvmError> {
    let holder = match kind.factory_type() {
        "long" => c"java/lang/Long",
        "int" => c"java/lang/Integer",
        "short" => c"java/lang/Short",
        "float" => c"java/lang/Float",
        "double" => c"java/lang/Double",
        "boolean" => c"java/lang/Boolean",
        "java.lang.Class" => return jni.find_class(c"java/lang/Class"),
        "java.lang.Thread" => return jni.find_class(c"java/lang/Thread"),
        _ => return jni.find_class(c"java/lang/String"),
    };
    let holder = jni.find_class(holder)?;
    // SAFETY: box classes are initialised and have a static field TYPE of type Class.
    let class = unsafe {
        let field = (jni.table().GetStaticFieldID)(
            jni.raw(),
            holder.raw(),
            c"TYPE".as_ptr(),
            c"Ljava/lang/Class;".as_ptr(),
        );
        if jni.clear_exception() || field.is_null() {
            return Err(JvmError::Exception("GetStaticFieldID"));
        }
        Obj::from_raw((jni.table().GetStaticObjectField)(
            jni.raw(),
            holder.raw(),
            field,
        ))
    };
    class.ok_or(JvmError::Null("TYPE"))
}

/// # Safety
/// `constructor` is one of `class` and takes exactly `args`; more may be given than it takes.
unsafe fn new_object<'g>(
    jni: &Jni<'g>,
    class: &Obj<'_>,
    constructor: MethodId,
    args: &[jvalue],
) -> Result<Obj<'g>, JvmError> {
    // SAFETY: the caller's promise; the answer is a fresh local reference.
    let made = unsafe {
        let raw =
            (jni.table().NewObjectA)(jni.raw(), class.raw(), constructor.raw(), args.as_ptr());
        Obj::from_raw(raw)
    };
    if jni.clear_exception() {
        return Err(JvmError::Exception("constructor"));
    }
    made.ok_or(JvmError::Null("constructor"))
}
