//! What JVMTI says of classes, fields and methods.

use std::ffi::c_char;

use super::jvmti::{Allocated, jvmti_call};
use super::raw_jni::{jclass, jfieldID};
use super::raw_jvmti::jvmtiLineNumberEntry;
use super::{FieldId, Jni, JvmError, Jvmti, MethodId, Obj};

/// Line numbers of a method: (first bytecode index, line), as the class file lists them.
pub type Lines = Vec<(i64, i32)>;

impl Jvmti {
    /// A class's JVM signature, such as `Ljava/lang/String;` or `[I`. Hidden classes have a dot before their
    /// number.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn class_signature(self, class: &Obj<'_>) -> Result<String, JvmError> {
        let mut signature: *mut c_char = std::ptr::null_mut();
        jvmti_call!(
            self,
            GetClassSignature,
            class.raw(),
            &raw mut signature,
            std::ptr::null_mut()
        )?;
        // SAFETY: the JVM allocated it for us.
        Ok(unsafe { Allocated::new(self, signature) }.text())
    }

    /// The class status bits (`JVMTI_CLASS_STATUS_*`).
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn class_status(self, class: &Obj<'_>) -> Result<i32, JvmError> {
        let mut status = 0;
        jvmti_call!(self, GetClassStatus, class.raw(), &raw mut status)?;
        Ok(status)
    }

    /// The class's access flags.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn class_modifiers(self, class: &Obj<'_>) -> Result<i32, JvmError> {
        let mut modifiers = 0;
        jvmti_call!(self, GetClassModifiers, class.raw(), &raw mut modifiers)?;
        Ok(modifiers)
    }

    /// The class's loader; `None` for the boot loader.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn class_loader<'f>(
        self,
        jni: &Jni<'f>,
        class: &Obj<'_>,
    ) -> Result<Option<Obj<'f>>, JvmError> {
        let _ = jni;
        let mut loader = std::ptr::null_mut();
        jvmti_call!(self, GetClassLoader, class.raw(), &raw mut loader)?;
        // SAFETY: a fresh local reference of this thread's frame, or null.
        Ok(unsafe { Obj::from_raw(loader) })
    }

    /// The fields that the class itself declares, in declaration order.
    ///
    /// # Errors
    /// Any JVMTI code; [`JvmError::OutOfMemory`].
    pub fn class_fields(self, class: &Obj<'_>) -> Result<Vec<FieldId>, JvmError> {
        let (mut count, mut fields): (i32, *mut jfieldID) = (0, std::ptr::null_mut());
        jvmti_call!(
            self,
            GetClassFields,
            class.raw(),
            &raw mut count,
            &raw mut fields
        )?;
        // SAFETY: the JVM allocated the array for us and filled `count` values.
        let fields = unsafe { Allocated::new(self, fields) };
        // SAFETY: as above.
        let slice = unsafe { fields.slice(count) };
        let mut ids = Vec::new();
        ids.try_reserve_exact(slice.len())
            .map_err(|_| JvmError::OutOfMemory("GetClassFields"))?;
        ids.extend(slice.iter().map(|id| FieldId(*id)));
        Ok(ids)
    }

    /// A field's name and JVM type signature.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn field_name(self, class: &Obj<'_>, field: FieldId) -> Result<(String, String), JvmError> {
        let mut name: *mut c_char = std::ptr::null_mut();
        let mut signature: *mut c_char = std::ptr::null_mut();
        jvmti_call!(
            self,
            GetFieldName,
            class.raw(),
            field.raw(),
            &raw mut name,
            &raw mut signature,
            std::ptr::null_mut()
        )?;
        // SAFETY: the JVM allocated both for us.
        let (name, signature) =
            unsafe { (Allocated::new(self, name), Allocated::new(self, signature)) };
        Ok((name.text(), signature.text()))
    }

    /// A field's access flags.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn field_modifiers(self, class: &Obj<'_>, field: FieldId) -> Result<i32, JvmError> {
        let mut modifiers = 0;
        jvmti_call!(
            self,
            GetFieldModifiers,
            class.raw(),
            field.raw(),
            &raw mut modifiers
        )?;
        Ok(modifiers)
    }

    /// The interfaces that the class itself names.
    ///
    /// # Errors
    /// Any JVMTI code; [`JvmError::OutOfMemory`].
    pub fn interfaces<'f>(self, jni: &Jni<'f>, class: &Obj<'_>) -> Result<Vec<Obj<'f>>, JvmError> {
        let (mut count, mut list): (i32, *mut jclass) = (0, std::ptr::null_mut());
        jvmti_call!(
            self,
            GetImplementedInterfaces,
            class.raw(),
            &raw mut count,
            &raw mut list
        )?;
        self.take_refs(jni, "GetImplementedInterfaces", count, list)
    }

    /// Every loaded class, as local references of the current frame: push a frame with enough room first.
    ///
    /// # Errors
    /// Any JVMTI code; [`JvmError::OutOfMemory`] (the references are freed).
    pub fn loaded_classes<'f>(self, jni: &Jni<'f>) -> Result<Vec<Obj<'f>>, JvmError> {
        let (mut count, mut list): (i32, *mut jclass) = (0, std::ptr::null_mut());
        jvmti_call!(self, GetLoadedClasses, &raw mut count, &raw mut list)?;
        self.take_refs(jni, "GetLoadedClasses", count, list)
    }

    /// Takes over an array of local references that the JVM allocated.
    pub(super) fn take_refs<'f>(
        self,
        jni: &Jni<'f>,
        call: &'static str,
        count: i32,
        list: *mut jclass,
    ) -> Result<Vec<Obj<'f>>, JvmError> {
        // SAFETY: the JVM allocated the array for us and filled `count` values.
        let list = unsafe { Allocated::new(self, list) };
        // SAFETY: as above.
        let slice = unsafe { list.slice(count) };
        let mut refs = Vec::new();
        let fits = refs.try_reserve_exact(slice.len()).is_ok();
        for raw in slice {
            // SAFETY: a fresh local reference of this thread's frame, or null.
            let Some(obj) = (unsafe { Obj::from_raw(*raw) }) else {
                continue;
            };
            if fits {
                refs.push(obj)
            } else {
                jni.delete(obj)
            }
        }
        if fits {
            Ok(refs)
        } else {
            Err(JvmError::OutOfMemory(call))
        }
    }

    /// A method's name and descriptor.
    ///
    /// # Errors
    /// Any JVMTI code.
    ///
    /// # Safety
    /// The method's class is pinned by a frame on a stack or a reference.
    pub unsafe fn method_name(self, method: MethodId) -> Result<(String, String), JvmError> {
        let mut name: *mut c_char = std::ptr::null_mut();
        let mut signature: *mut c_char = std::ptr::null_mut();
        jvmti_call!(
            self,
            GetMethodName,
            method.raw(),
            &raw mut name,
            &raw mut signature,
            std::ptr::null_mut()
        )?;
        // SAFETY: the JVM allocated both for us.
        let (name, signature) =
            unsafe { (Allocated::new(self, name), Allocated::new(self, signature)) };
        Ok((name.text(), signature.text()))
    }

    /// The class that declares a method.
    ///
    /// # Errors
    /// Any JVMTI code.
    ///
    /// # Safety
    /// As [`Jvmti::method_name`].
    pub unsafe fn method_class<'f>(
        self,
        jni: &Jni<'f>,
        method: MethodId,
    ) -> Result<Obj<'f>, JvmError> {
        let _ = jni;
        let mut class = std::ptr::null_mut();
        jvmti_call!(self, GetMethodDeclaringClass, method.raw(), &raw mut class)?;
        // SAFETY: a fresh local reference of this thread's frame, or null.
        unsafe { Obj::from_raw(class) }.ok_or(JvmError::Null("GetMethodDeclaringClass"))
    }

    /// A method's access flags.
    ///
    /// # Errors
    /// Any JVMTI code.
    ///
    /// # Safety
    /// As [`Jvmti::method_name`].
    pub unsafe fn method_modifiers(self, method: MethodId) -> Result<i32, JvmError> {
        let mut modifiers = 0;
        jvmti_call!(self, GetMethodModifiers, method.raw(), &raw mut modifiers)?;
        Ok(modifiers)
    }

    /// A method's line numbers; empty for native methods and classes without them. Needs
    /// `can_get_line_numbers`.
    ///
    /// # Safety
    /// As [`Jvmti::method_name`].
    #[must_use]
    pub unsafe fn line_numbers(self, method: MethodId) -> Lines {
        let (mut count, mut table): (i32, *mut jvmtiLineNumberEntry) = (0, std::ptr::null_mut());
        if jvmti_call!(
            self,
            GetLineNumberTable,
            method.raw(),
            &raw mut count,
            &raw mut table
        )
        .is_err()
        {
            return Lines::new();
        }
        // SAFETY: the JVM allocated the table for us and filled `count` entries.
        let table = unsafe { Allocated::new(self, table) };
        // SAFETY: as above.
        let slice = unsafe { table.slice(count) };
        slice
            .iter()
            .map(|entry| (entry.start_location, entry.line_number))
            .collect()
    }
}
