//! The current thread's JNI environment inside one local frame.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::raw_jni::{JNI_OK, JNIEnv, JNINativeInterface_, jobject, jvalue};
use super::{FieldId, Global, JvmError, MethodId, Obj, Weak};

/// A JNI environment; references that it returns live for the frame `'f`.
///
/// Neither `Send` nor `Sync`: it belongs to one attached thread.
#[derive(Debug)]
pub struct Jni<'f> {
    env: NonNull<JNIEnv>,
    // Invariant in 'f: a frame's references cannot pose as an outer frame's.
    frame: PhantomData<fn(&'f ()) -> &'f ()>,
    thread: PhantomData<*mut ()>,
}

/// An argument of a Java call.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// A reference or null.
    Object(Option<&'a Obj<'a>>),
    /// `int`.
    Int(i32),
    /// `long`.
    Long(i64),
    /// `boolean`.
    Bool(bool),
}

impl Value<'_> {
    fn raw(self) -> jvalue {
        match self {
            Self::Object(None) => jvalue {
                l: std::ptr::null_mut(),
            },
            Self::Object(Some(o)) => jvalue { l: o.raw() },
            Self::Int(i) => jvalue { i },
            Self::Long(j) => jvalue { j },
            Self::Bool(z) => jvalue { z: u8::from(z) },
        }
    }
}

/// Most arguments that a call of ours has.
const MAX_ARGS: usize = 8;

fn raw_args(args: &[Value<'_>]) -> [jvalue; MAX_ARGS] {
    let mut raw = [jvalue { j: 0 }; MAX_ARGS];
    for (slot, arg) in raw.iter_mut().zip(args) {
        *slot = arg.raw();
    }
    raw
}

impl<'f> Jni<'f> {
    /// Takes the environment that a callback or an attach call received; `None` for null.
    ///
    /// # Safety
    /// `raw` is null or the current thread's environment, and the thread stays attached, in its current native
    /// frame, for all of `'f`.
    #[must_use]
    pub unsafe fn from_raw(raw: *mut JNIEnv) -> Option<Self> {
        NonNull::new(raw).map(|env| Self {
            env,
            frame: PhantomData,
            thread: PhantomData,
        })
    }

    /// The environment as the tables take it.
    #[must_use]
    pub fn raw(&self) -> *mut JNIEnv {
        self.env.as_ptr()
    }

    /// The function table, for hot loops that need a call the facade does not offer.
    #[must_use]
    pub fn table(&self) -> &JNINativeInterface_ {
        // SAFETY: `from_raw`'s promise: environment and table are valid for 'f.
        unsafe { &**self.env.as_ptr() }
    }

    fn local(&self, raw: jobject) -> Option<Obj<'f>> {
        // SAFETY: callers pass a fresh local reference of this frame, or null.
        unsafe { Obj::from_raw(raw) }
    }

    /// Runs `body` in a new local frame with room for `capacity` references; all of them are freed after it,
    /// also when it panics.
    ///
    /// # Errors
    /// [`JvmError::Exception`] when the JVM has no memory for the frame (the exception is cleared).
    pub fn frame<R>(
        &self,
        capacity: i32,
        body: impl for<'g> FnOnce(&Jni<'g>) -> R,
    ) -> Result<R, JvmError> {
        // SAFETY: plain table call on this thread's environment.
        let code = unsafe { (self.table().PushLocalFrame)(self.raw(), capacity) };
        if code != JNI_OK {
            self.clear_exception();
            return Err(JvmError::Exception("PushLocalFrame"));
        }
        struct Pop(*mut JNIEnv);
        impl Drop for Pop {
            fn drop(&mut self) {
                // SAFETY: the matching push succeeded on this thread just above.
                unsafe { ((**self.0).PopLocalFrame)(self.0, std::ptr::null_mut()) };
            }
        }
        let _pop = Pop(self.raw());
        let inner = Jni {
            env: self.env,
            frame: PhantomData,
            thread: PhantomData,
        };
        Ok(body(&inner))
    }

    /// Clears a pending exception; true when there was one.
    pub fn clear_exception(&self) -> bool {
        // SAFETY: both calls are allowed while an exception is pending.
        unsafe {
            let pending = (self.table().ExceptionCheck)(self.raw()) != 0;
            if pending {
                (self.table().ExceptionClear)(self.raw());
            }
            pending
        }
    }

    fn checked<T>(&self, call: &'static str, value: T) -> Result<T, JvmError> {
        if self.clear_exception() {
            Err(JvmError::Exception(call))
        } else {
            Ok(value)
        }
    }

    /// Frees a local reference before its frame ends.
    pub fn delete(&self, obj: Obj<'_>) {
        // SAFETY: `Obj` is a valid local reference of this thread, consumed here.
        unsafe { (self.table().DeleteLocalRef)(self.raw(), obj.raw()) };
    }

    /// Makes room for `capacity` more local references in the current frame.
    ///
    /// # Errors
    /// [`JvmError::Exception`] without memory (the exception is cleared).
    pub fn ensure_capacity(&self, capacity: i32) -> Result<(), JvmError> {
        // SAFETY: plain table call.
        let code = unsafe { (self.table().EnsureLocalCapacity)(self.raw(), capacity) };
        if code == JNI_OK {
            return Ok(());
        }
        self.clear_exception();
        Err(JvmError::Exception("EnsureLocalCapacity"))
    }

    /// Whether two references name the same object.
    #[must_use]
    pub fn same(&self, a: &Obj<'_>, b: &Obj<'_>) -> bool {
        // SAFETY: both are valid references.
        unsafe { (self.table().IsSameObject)(self.raw(), a.raw(), b.raw()) != 0 }
    }

    /// A strong global reference; `None` when the JVM has no memory.
    #[must_use]
    pub fn new_global(&self, obj: &Obj<'_>) -> Option<Global> {
        // SAFETY: a valid reference.
        let raw = unsafe { (self.table().NewGlobalRef)(self.raw(), obj.raw()) };
        self.clear_exception();
        Global::new(raw)
    }

    /// Frees a global reference.
    pub fn delete_global(&self, global: Global) {
        // SAFETY: consumed: nobody can use it again.
        unsafe { (self.table().DeleteGlobalRef)(self.raw(), global.raw()) };
    }

    /// A weak global reference; `None` when the JVM has no memory.
    #[must_use]
    pub fn new_weak(&self, obj: &Obj<'_>) -> Option<Weak> {
        // SAFETY: a valid reference.
        let raw = unsafe { (self.table().NewWeakGlobalRef)(self.raw(), obj.raw()) };
        self.clear_exception();
        Weak::new(raw)
    }

    /// Frees a weak global reference.
    pub fn delete_weak(&self, weak: Weak) {
        // SAFETY: consumed: nobody can use it again.
        unsafe { (self.table().DeleteWeakGlobalRef)(self.raw(), weak.raw()) };
    }

    /// Whether the collector has cleared `weak`.
    ///
    /// Asks `IsSameObject(weak, NULL)`: `NewLocalRef` would keep the object alive during concurrent marking.
    #[must_use]
    pub fn is_cleared(&self, weak: &Weak) -> bool {
        // SAFETY: a weak global that has not been deleted, against null.
        unsafe { (self.table().IsSameObject)(self.raw(), weak.raw(), std::ptr::null_mut()) != 0 }
    }

    /// Whether the object behind `weak` is `obj`; false when it was cleared.
    #[must_use]
    pub fn is_same_weak(&self, weak: &Weak, obj: &Obj<'_>) -> bool {
        // SAFETY: a weak global that has not been deleted and a valid reference.
        unsafe { (self.table().IsSameObject)(self.raw(), weak.raw(), obj.raw()) != 0 }
    }

    /// Whether a thread object is a virtual thread; false on JDKs without them.
    #[must_use]
    pub fn is_virtual_thread(&self, thread: &Obj<'_>) -> bool {
        // SAFETY: GetVersion is always there.
        let version = unsafe { (self.table().GetVersion)(self.raw()) };
        if version < super::raw_jni::JNI_VERSION_21 {
            return false;
        }
        // SAFETY: the table of this version has the entry; a valid reference.
        unsafe { (self.table().IsVirtualThread)(self.raw(), thread.raw()) != 0 }
    }

    /// A local reference to the object behind `weak`, `None` when it is gone.
    ///
    /// Keeps the object alive for the frame and marks it live for a running collection: only for objects that a
    /// search must look at, never as a liveness poll.
    #[must_use]
    pub fn upgrade(&self, weak: &Weak) -> Option<Obj<'f>> {
        // SAFETY: a weak global that has not been deleted.
        self.local(unsafe { (self.table().NewLocalRef)(self.raw(), weak.raw()) })
    }

    /// A new local reference to the same object in this frame.
    #[must_use]
    pub fn new_local(&self, obj: &Obj<'_>) -> Option<Obj<'f>> {
        // SAFETY: a valid reference.
        self.local(unsafe { (self.table().NewLocalRef)(self.raw(), obj.raw()) })
    }

    /// The object's class.
    ///
    /// # Errors
    /// [`JvmError::Null`] never in practice: every object has a class.
    pub fn class_of(&self, obj: &Obj<'_>) -> Result<Obj<'f>, JvmError> {
        // SAFETY: a valid reference.
        let raw = unsafe { (self.table().GetObjectClass)(self.raw(), obj.raw()) };
        self.local(raw).ok_or(JvmError::Null("GetObjectClass"))
    }

    /// The superclass; `None` for `Object` and interfaces.
    #[must_use]
    pub fn superclass(&self, class: &Obj<'_>) -> Option<Obj<'f>> {
        // SAFETY: callers pass a class reference; a non-class gives null or an error line under -Xcheck:jni.
        self.local(unsafe { (self.table().GetSuperclass)(self.raw(), class.raw()) })
    }

    /// Whether `obj` is an instance of `class`.
    #[must_use]
    pub fn is_instance(&self, obj: &Obj<'_>, class: &Obj<'_>) -> bool {
        // SAFETY: valid references.
        unsafe { (self.table().IsInstanceOf)(self.raw(), obj.raw(), class.raw()) != 0 }
    }

    /// A class by its internal name, by the boot loader's or the caller's loader. May run its initialiser.
    ///
    /// # Errors
    /// [`JvmError::Exception`] when there is no such class (the exception is cleared).
    pub fn find_class(&self, name: &CStr) -> Result<Obj<'f>, JvmError> {
        // SAFETY: a terminated string.
        let raw = unsafe { (self.table().FindClass)(self.raw(), name.as_ptr()) };
        let class = self.checked("FindClass", self.local(raw))?;
        class.ok_or(JvmError::Null("FindClass"))
    }

    /// An instance method's id.
    ///
    /// # Errors
    /// [`JvmError::Exception`] when there is no such method.
    pub fn method(
        &self,
        class: &Obj<'_>,
        name: &CStr,
        signature: &CStr,
    ) -> Result<MethodId, JvmError> {
        // SAFETY: a class reference and terminated strings.
        let id = unsafe {
            (self.table().GetMethodID)(self.raw(), class.raw(), name.as_ptr(), signature.as_ptr())
        };
        self.checked("GetMethodID", ())?;
        if id.is_null() {
            Err(JvmError::Null("GetMethodID"))
        } else {
            Ok(MethodId(id))
        }
    }

    /// A static method's id.
    ///
    /// # Errors
    /// [`JvmError::Exception`] when there is no such method.
    pub fn static_method(
        &self,
        class: &Obj<'_>,
        name: &CStr,
        signature: &CStr,
    ) -> Result<MethodId, JvmError> {
        // SAFETY: a class reference and terminated strings.
        let id = unsafe {
            (self.table().GetStaticMethodID)(
                self.raw(),
                class.raw(),
                name.as_ptr(),
                signature.as_ptr(),
            )
        };
        self.checked("GetStaticMethodID", ())?;
        if id.is_null() {
            Err(JvmError::Null("GetStaticMethodID"))
        } else {
            Ok(MethodId(id))
        }
    }

    /// Calls an instance method that returns a reference.
    ///
    /// # Errors
    /// [`JvmError::Exception`] when it throws (cleared).
    ///
    /// # Safety
    /// `method` belongs to the object's class and takes exactly `args`, at most eight.
    pub unsafe fn call_object(
        &self,
        obj: &Obj<'_>,
        method: MethodId,
        args: &[Value<'_>],
    ) -> Result<Option<Obj<'f>>, JvmError> {
        let args = raw_args(args);
        // SAFETY: the caller's promise.
        let raw = unsafe {
            (self.table().CallObjectMethodA)(self.raw(), obj.raw(), method.raw(), args.as_ptr())
        };
        self.checked("CallObjectMethod", self.local(raw))
    }

    /// Calls an instance method that returns `long`.
    ///
    /// # Errors
    /// [`JvmError::Exception`] when it throws (cleared).
    ///
    /// # Safety
    /// As [`Jni::call_object`].
    pub unsafe fn call_long(
        &self,
        obj: &Obj<'_>,
        method: MethodId,
        args: &[Value<'_>],
    ) -> Result<i64, JvmError> {
        let args = raw_args(args);
        // SAFETY: the caller's promise.
        let value = unsafe {
            (self.table().CallLongMethodA)(self.raw(), obj.raw(), method.raw(), args.as_ptr())
        };
        self.checked("CallLongMethod", value)
    }

    /// Calls an instance method that returns `int`.
    ///
    /// # Errors
    /// [`JvmError::Exception`] when it throws (cleared).
    ///
    /// # Safety
    /// As [`Jni::call_object`].
    pub unsafe fn call_int(
        &self,
        obj: &Obj<'_>,
        method: MethodId,
        args: &[Value<'_>],
    ) -> Result<i32, JvmError> {
        let args = raw_args(args);
        // SAFETY: the caller's promise.
        let value = unsafe {
            (self.table().CallIntMethodA)(self.raw(), obj.raw(), method.raw(), args.as_ptr())
        };
        self.checked("CallIntMethod", value)
    }

    /// Calls an instance method that returns `boolean`.
    ///
    /// # Errors
    /// [`JvmError::Exception`] when it throws (cleared).
    ///
    /// # Safety
    /// As [`Jni::call_object`].
    pub unsafe fn call_bool(
        &self,
        obj: &Obj<'_>,
        method: MethodId,
        args: &[Value<'_>],
    ) -> Result<bool, JvmError> {
        let args = raw_args(args);
        // SAFETY: the caller's promise.
        let value = unsafe {
            (self.table().CallBooleanMethodA)(self.raw(), obj.raw(), method.raw(), args.as_ptr())
        };
        self.checked("CallBooleanMethod", value != 0)
    }

    /// Calls an instance method that returns nothing.
    ///
    /// # Errors
    /// [`JvmError::Exception`] when it throws (cleared).
    ///
    /// # Safety
    /// As [`Jni::call_object`].
    pub unsafe fn call_void(
        &self,
        obj: &Obj<'_>,
        method: MethodId,
        args: &[Value<'_>],
    ) -> Result<(), JvmError> {
        let args = raw_args(args);
        // SAFETY: the caller's promise.
        unsafe {
            (self.table().CallVoidMethodA)(self.raw(), obj.raw(), method.raw(), args.as_ptr())
        };
        self.checked("CallVoidMethod", ())
    }

    /// Calls a static method that returns a reference.
    ///
    /// # Errors
    /// [`JvmError::Exception`] when it throws (cleared).
    ///
    /// # Safety
    /// `method` is a static method of `class` and takes exactly `args`, at most eight.
    pub unsafe fn call_static_object(
        &self,
        class: &Obj<'_>,
        method: MethodId,
        args: &[Value<'_>],
    ) -> Result<Option<Obj<'f>>, JvmError> {
        let args = raw_args(args);
        // SAFETY: the caller's promise.
        let raw = unsafe {
            (self.table().CallStaticObjectMethodA)(
                self.raw(),
                class.raw(),
                method.raw(),
                args.as_ptr(),
            )
        };
        self.checked("CallStaticObjectMethod", self.local(raw))
    }

    /// A Java string as UTF-8; unpaired surrogates are replaced.
    ///
    /// # Errors
    /// [`JvmError::OutOfMemory`] when it does not fit.
    ///
    /// # Safety
    /// `string` is a `java.lang.String`.
    pub unsafe fn string(&self, string: &Obj<'_>) -> Result<String, JvmError> {
        // SAFETY: the caller's promise.
        let length = unsafe { (self.table().GetStringLength)(self.raw(), string.raw()) };
        let count = usize::try_from(length).map_err(|_| JvmError::Null("GetStringLength"))?;
        let mut units: Vec<u16> = Vec::new();
        units
            .try_reserve_exact(count)
            .map_err(|_| JvmError::OutOfMemory("GetStringRegion"))?;
        units.resize(count, 0);
        // SAFETY: the buffer holds `length` units.
        unsafe {
            (self.table().GetStringRegion)(self.raw(), string.raw(), 0, length, units.as_mut_ptr())
        };
        self.checked("GetStringRegion", ())?;
        Ok(String::from_utf16_lossy(&units))
    }

    /// A new Java string; interior zero bytes and all of Unicode are kept.
    ///
    /// # Errors
    /// [`JvmError::Exception`] without memory.
    pub fn new_string(&self, text: &str) -> Result<Obj<'f>, JvmError> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let length = i32::try_from(units.len()).map_err(|_| JvmError::OutOfMemory("NewString"))?;
        // SAFETY: the buffer holds `length` units.
        let raw = unsafe { (self.table().NewString)(self.raw(), units.as_ptr(), length) };
        let string = self.checked("NewString", self.local(raw))?;
        string.ok_or(JvmError::Null("NewString"))
    }

    /// The length of an array of any kind.
    ///
    /// # Safety
    /// `array` is an array.
    #[must_use]
    pub unsafe fn array_length(&self, array: &Obj<'_>) -> i32 {
        // SAFETY: the caller's promise.
        unsafe { (self.table().GetArrayLength)(self.raw(), array.raw()) }
    }

    /// A new array of references to `class` and its subclasses, full of null.
    ///
    /// # Errors
    /// [`JvmError::Exception`] without memory (the exception is cleared).
    pub fn new_object_array(&self, length: usize, class: &Obj<'_>) -> Result<Obj<'f>, JvmError> {
        let length = i32::try_from(length).map_err(|_| JvmError::OutOfMemory("NewObjectArray"))?;
        // SAFETY: a class reference, and null as the first value of every element.
        let raw = unsafe {
            (self.table().NewObjectArray)(self.raw(), length, class.raw(), std::ptr::null_mut())
        };
        let array = self.checked("NewObjectArray", self.local(raw))?;
        array.ok_or(JvmError::Null("NewObjectArray"))
    }

    /// Sets an element of an object array. A wrong index sets nothing.
    ///
    /// # Safety
    /// `array` is an array of references that takes `value`.
    pub unsafe fn set_array_element(&self, array: &Obj<'_>, index: usize, value: &Obj<'_>) {
        let Ok(index) = i32::try_from(index) else {
            return;
        };
        // SAFETY: the caller's promise; a wrong index throws.
        unsafe {
            (self.table().SetObjectArrayElement)(self.raw(), array.raw(), index, value.raw());
        }
        self.clear_exception();
    }

    /// An element of an object array; `None` for null.
    ///
    /// # Errors
    /// [`JvmError::Exception`] for an index outside the array.
    ///
    /// # Safety
    /// `array` is an array of references.
    pub unsafe fn array_element(
        &self,
        array: &Obj<'_>,
        index: i32,
    ) -> Result<Option<Obj<'f>>, JvmError> {
        // SAFETY: the caller's promise; a wrong index throws.
        let raw = unsafe { (self.table().GetObjectArrayElement)(self.raw(), array.raw(), index) };
        if raw.is_null() {
            return self.checked("GetObjectArrayElement", None);
        }
        Ok(self.local(raw))
    }

    /// A reference field's value; `None` for null.
    ///
    /// # Safety
    /// `field` is an instance field of a reference type of the object's class.
    #[must_use]
    pub unsafe fn object_field(&self, obj: &Obj<'_>, field: FieldId) -> Option<Obj<'f>> {
        // SAFETY: the caller's promise.
        self.local(unsafe { (self.table().GetObjectField)(self.raw(), obj.raw(), field.raw()) })
    }

    /// An `int` field's value.
    ///
    /// # Safety
    /// `field` is an instance field of type `int` of the object's class.
    #[must_use]
    pub unsafe fn int_field(&self, obj: &Obj<'_>, field: FieldId) -> i32 {
        // SAFETY: the caller's promise.
        unsafe { (self.table().GetIntField)(self.raw(), obj.raw(), field.raw()) }
    }

    /// A `long` field's value.
    ///
    /// # Safety
    /// `field` is an instance field of type `long` of the object's class.
    #[must_use]
    pub unsafe fn long_field(&self, obj: &Obj<'_>, field: FieldId) -> i64 {
        // SAFETY: the caller's promise.
        unsafe { (self.table().GetLongField)(self.raw(), obj.raw(), field.raw()) }
    }

    /// A static reference field's value; `None` for null. Never ask a class that is not initialised.
    ///
    /// # Safety
    /// `field` is a static field of a reference type of `class`, and `class` is initialised.
    #[must_use]
    pub unsafe fn static_object_field(&self, class: &Obj<'_>, field: FieldId) -> Option<Obj<'f>> {
        // SAFETY: the caller's promise.
        self.local(unsafe {
            (self.table().GetStaticObjectField)(self.raw(), class.raw(), field.raw())
        })
    }
}
