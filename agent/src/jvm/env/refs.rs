//! References and ids that the JVM hands out.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::raw_jni::{jfieldID, jmethodID, jobject};

/// A non-null reference that is valid for the local frame `'f` (or for a callback's call).
///
/// Not `Copy`: [`super::Jni::delete`] consumes it, so a deleted reference cannot be used.
#[derive(Debug)]
#[repr(transparent)]
pub struct Obj<'f> {
    raw: NonNull<std::ffi::c_void>,
    frame: PhantomData<&'f ()>,
    thread: PhantomData<*mut ()>,
}

impl<'f> Obj<'f> {
    /// Takes a reference as the JVM gave it; `None` for null.
    ///
    /// # Safety
    /// `raw` is null or a valid reference of the current thread for all of `'f`.
    #[must_use]
    pub unsafe fn from_raw(raw: jobject) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self {
            raw,
            frame: PhantomData,
            thread: PhantomData,
        })
    }

    /// The reference as the tables take it.
    #[must_use]
    pub fn raw(&self) -> jobject {
        self.raw.as_ptr()
    }

    /// A second name for the same handle with a shorter life; deleting one makes both useless, so only
    /// references that nobody deletes (callback arguments) may be shared so.
    ///
    /// # Safety
    /// Neither name is passed to [`super::Jni::delete`] while the other may still be used.
    #[must_use]
    pub unsafe fn alias(&self) -> Obj<'f> {
        Obj {
            raw: self.raw,
            frame: PhantomData,
            thread: PhantomData,
        }
    }
}

/// A strong global reference. Deleting it is explicit ([`super::Jni::delete_global`]): a `Drop` would need a
/// thread that is attached.
#[derive(Debug)]
#[repr(transparent)]
pub struct Global(NonNull<std::ffi::c_void>);

// SAFETY: a global reference is valid on every attached thread; the handle itself is only a number.
unsafe impl Send for Global {}
// SAFETY: as above; the JVM synchronises access to the handle.
unsafe impl Sync for Global {}

impl Global {
    pub(super) fn new(raw: jobject) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    /// The reference as the tables take it.
    #[must_use]
    pub fn raw(&self) -> jobject {
        self.0.as_ptr()
    }

    /// This reference as an argument of calls; it lives as long as the global does.
    #[must_use]
    pub fn as_obj(&self) -> Obj<'_> {
        Obj {
            raw: self.0,
            frame: PhantomData,
            thread: PhantomData,
        }
    }
}

/// A weak global reference: does not keep its object alive. Deleting it is explicit.
#[derive(Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Weak(NonNull<std::ffi::c_void>);

// SAFETY: a weak global reference is valid on every attached thread.
unsafe impl Send for Weak {}
// SAFETY: as above.
unsafe impl Sync for Weak {}

impl Weak {
    pub(super) fn new(raw: jobject) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    /// The reference as the tables take it.
    #[must_use]
    pub fn raw(&self) -> jobject {
        self.0.as_ptr()
    }

    /// A number that is never given to a JVM.
    #[cfg(test)]
    pub(crate) fn for_test(number: usize) -> Self {
        Self(NonNull::new(number as *mut std::ffi::c_void).unwrap())
    }

    /// The handle as a number, for storage in atomics and plain records.
    #[must_use]
    pub fn into_bits(self) -> u64 {
        self.0.as_ptr() as usize as u64
    }

    /// The handle back from [`Weak::into_bits`]; `None` for 0.
    ///
    /// # Safety
    /// `bits` came from `into_bits` of a reference that has not been deleted, and no second owner of it exists.
    #[must_use]
    pub unsafe fn from_bits(bits: u64) -> Option<Self> {
        NonNull::new(usize::try_from(bits).ok()? as *mut std::ffi::c_void).map(Self)
    }
}

/// A field id. Valid while the field's class is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct FieldId(pub(super) jfieldID);

// SAFETY: an id is a number to us; using it needs an environment.
unsafe impl Send for FieldId {}
// SAFETY: as above.
unsafe impl Sync for FieldId {}

impl FieldId {
    /// The id as the tables take it.
    #[must_use]
    pub fn raw(self) -> jfieldID {
        self.0
    }
}

/// A method id. Valid while the method's class is loaded: a frame of it, or a reference to its class, pins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct MethodId(pub(super) jmethodID);

// SAFETY: an id is a number to us; using it needs an environment.
unsafe impl Send for MethodId {}
// SAFETY: as above.
unsafe impl Sync for MethodId {}

impl MethodId {
    /// The id that a heap callback was given; `None` for null.
    #[must_use]
    pub fn from_raw(raw: jmethodID) -> Option<Self> {
        (!raw.is_null()).then_some(Self(raw))
    }

    /// The id as the tables take it.
    #[must_use]
    pub fn raw(self) -> jmethodID {
        self.0
    }
}
