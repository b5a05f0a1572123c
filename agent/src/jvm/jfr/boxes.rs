//! Java values for `Event.set`: boxed exactly as the field's type asks, since JDK 25 refuses anything else.

use jfr_format::schema::Value;

use super::Live;
use crate::jvm::env::raw_jni::jvalue;
use crate::jvm::env::{Global, Jni, JvmError, MethodId, Obj};

/// `valueOf` of one box class.
#[derive(Debug)]
struct BoxClass {
    class: Global,
    value_of: MethodId,
}

impl BoxClass {
    fn find(
        jni: &Jni<'_>,
        class: &std::ffi::CStr,
        signature: &std::ffi::CStr,
    ) -> Result<Self, JvmError> {
        let class = jni.find_class(class)?;
        let value_of = jni.static_method(&class, c"valueOf", signature)?;
        let class = jni
            .new_global(&class)
            .ok_or(JvmError::Null("NewGlobalRef"))?;
        Ok(Self { class, value_of })
    }

    /// # Safety
    /// `value` is of the primitive type that this class boxes.
    unsafe fn of<'g>(&self, jni: &Jni<'g>, value: jvalue) -> Result<Obj<'g>, JvmError> {
        // SAFETY: a static method of this class with one argument, whose type is the caller's promise; the answer
        // is a fresh local reference.
        let boxed = unsafe {
            let raw = (jni.table().CallStaticObjectMethodA)(
                jni.raw(),
                self.class.raw(),
                self.value_of.raw(),
                &raw const value,
            );
            Obj::from_raw(raw)
        };
        if jni.clear_exception() {
            return Err(JvmError::Exception("valueOf"));
        }
        boxed.ok_or(JvmError::Null("valueOf"))
    }
}

/// The box classes.
#[derive(Debug)]
pub(super) struct Boxes {
    long: BoxClass,
    int: BoxClass,
    short: BoxClass,
    float: BoxClass,
    double: BoxClass,
    boolean: BoxClass,
}

impl Boxes {
    pub(super) fn find(jni: &Jni<'_>) -> Result<Self, JvmError> {
        Ok(Self {
            long: BoxClass::find(jni, c"java/lang/Long", c"(J)Ljava/lang/Long;")?,
            int: BoxClass::find(jni, c"java/lang/Integer", c"(I)Ljava/lang/Integer;")?,
            short: BoxClass::find(jni, c"java/lang/Short", c"(S)Ljava/lang/Short;")?,
            float: BoxClass::find(jni, c"java/lang/Float", c"(F)Ljava/lang/Float;")?,
            double: BoxClass::find(jni, c"java/lang/Double", c"(D)Ljava/lang/Double;")?,
            boolean: BoxClass::find(jni, c"java/lang/Boolean", c"(Z)Ljava/lang/Boolean;")?,
        })
    }

    pub(super) fn boolean<'g>(&self, jni: &Jni<'g>, flag: bool) -> Result<Obj<'g>, JvmError> {
        // SAFETY: Boolean boxes a boolean.
        unsafe { self.boolean.of(jni, jvalue { z: u8::from(flag) }) }
    }

    /// The value as `Event.set` takes it; `None` for null, and for a class or thread that is gone.
    pub(super) fn value<'g>(
        &self,
        jni: &Jni<'g>,
        value: Value<'_>,
        live: &Live,
    ) -> Result<Option<Obj<'g>>, JvmError> {
        // SAFETY: each box class gets the primitive that it boxes.
        let boxed = unsafe {
            match value {
                Value::Long(j) => self.long.of(jni, jvalue { j })?,
                Value::Int(i) => self.int.of(jni, jvalue { i })?,
                Value::Short(s) => self.short.of(jni, jvalue { s })?,
                Value::Float(f) => self.float.of(jni, jvalue { f })?,
                Value::Double(d) => self.double.of(jni, jvalue { d })?,
                Value::Boolean(z) => self.boolean.of(jni, jvalue { z: u8::from(z) })?,
                Value::Text(text) => return text.map(|text| jni.new_string(text)).transpose(),
                Value::Stack(stack) => {
                    return stack
                        .map(|stack| jni.new_string(&stack.to_text()))
                        .transpose();
                }
                Value::Class(class) => return Ok(class.and_then(|class| live.class(jni, class))),
                Value::Thread(thread) => {
                    return Ok(thread.and_then(|thread| live.thread(jni, thread)));
                }
            }
        };
        Ok(Some(boxed))
    }

    pub(super) fn close(self, jni: &Jni<'_>) {
        for class in [
            self.long,
            self.int,
            self.short,
            self.float,
            self.double,
            self.boolean,
        ] {
            jni.delete_global(class.class);
        }
    }
}
