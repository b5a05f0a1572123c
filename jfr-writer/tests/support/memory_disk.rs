//! A file system in memory that keeps every step, so that a test can stop the world between any two.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![allow(clippy::cast_possible_truncation, reason = "files of a few MiB")]

use jfr_writer::disk::{Disk, DiskFile, FileId};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// One step, as the disk sees it.
#[derive(Clone, Debug)]
pub enum Step {
    Create(PathBuf, u64),
    Write(u64, u64, Vec<u8>),
    SetLen(u64, u64),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    /// The caller was told that this many events are safe.
    Acknowledged(u64),
}

#[derive(Clone, Default)]
pub struct State {
    pub files: HashMap<u64, Vec<u8>>,
    pub names: HashMap<PathBuf, u64>,
    next: u64,
}

impl State {
    pub fn apply(&mut self, step: &Step) {
        match step {
            Step::Create(path, inode) => {
                self.files.entry(*inode).or_default();
                self.names.insert(path.clone(), *inode);
            }
            Step::Write(inode, at, bytes) => {
                let file = self.files.get_mut(inode).unwrap();
                let (at, end) = (*at as usize, *at as usize + bytes.len());
                if file.len() < end {
                    file.resize(end, 0);
                }
                file[at..end].copy_from_slice(bytes);
            }
            Step::SetLen(inode, len) => self.files.get_mut(inode).unwrap().resize(*len as usize, 0),
            Step::Rename(from, to) => {
                let inode = self.names.remove(from).unwrap();
                self.names.insert(to.clone(), inode);
            }
            Step::Remove(path) => _ = self.names.remove(path),
            Step::Acknowledged(_) => {}
        }
    }

    pub fn at(&self, path: &Path) -> Option<&Vec<u8>> {
        self.names.get(path).map(|inode| &self.files[inode])
    }
}

#[derive(Default)]
struct Inner {
    state: State,
    steps: Vec<Step>,
    locked: HashSet<u64>,
    space: Option<u64>,
    read_only: bool,
    /// Writes and syncs until one fails, once.
    fails_after: Option<u64>,
}

/// The disk; clones are the same disk.
#[derive(Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<Inner>>);

impl MemoryDisk {
    pub fn steps(&self) -> Vec<Step> {
        self.0.lock().unwrap().steps.clone()
    }

    pub fn state(&self) -> State {
        self.0.lock().unwrap().state.clone()
    }

    pub fn acknowledge(&self, events: u64) {
        self.0
            .lock()
            .unwrap()
            .steps
            .push(Step::Acknowledged(events));
    }

    /// Bytes that may still be written; `None` for any number.
    pub fn set_space(&self, space: Option<u64>) {
        self.0.lock().unwrap().space = space;
    }

    pub fn set_read_only(&self, read_only: bool) {
        self.0.lock().unwrap().read_only = read_only;
    }

    /// Has one of the next writes and syncs fail: the first for 0.
    pub fn set_fails_after(&self, operations: u64) {
        self.0.lock().unwrap().fails_after = Some(operations);
    }

    /// Whether that failure is yet to come; it does not any more.
    pub fn take_failure(&self) -> bool {
        self.0.lock().unwrap().fails_after.take().is_some()
    }

    /// What another process does: a file of its own, locked or not.
    pub fn foreign(&self, path: &Path, locked: bool) {
        let mut inner = self.0.lock().unwrap();
        let inode = inner.fresh();
        inner.step(Step::Create(path.to_path_buf(), inode));
        inner.step(Step::Write(inode, 0, b"foreign".to_vec()));
        if locked {
            inner.locked.insert(inode);
        }
    }

    pub fn delete(&self, path: &Path) {
        self.0
            .lock()
            .unwrap()
            .step(Step::Remove(path.to_path_buf()));
    }
}

impl Inner {
    fn fresh(&mut self) -> u64 {
        self.state.next += 1;
        self.state.next
    }

    fn step(&mut self, step: Step) {
        self.state.apply(&step);
        self.steps.push(step);
    }

    fn fails_now(&mut self) -> bool {
        let left = self.fails_after.take();
        self.fails_after = left.and_then(|left| left.checked_sub(1));
        left == Some(0)
    }

    fn may_write(&self) -> io::Result<()> {
        if self.read_only {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        } else {
            Ok(())
        }
    }
}

pub struct MemoryFile {
    disk: MemoryDisk,
    inode: u64,
    locked: bool,
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        if self.locked {
            self.disk.0.lock().unwrap().locked.remove(&self.inode);
        }
    }
}

impl Disk for MemoryDisk {
    type File = MemoryFile;

    fn create(&mut self, path: &Path) -> io::Result<MemoryFile> {
        let mut inner = self.0.lock().unwrap();
        inner.may_write()?;
        let inode = match inner.state.names.get(path) {
            Some(inode) => *inode,
            None => {
                let inode = inner.fresh();
                inner.step(Step::Create(path.to_path_buf(), inode));
                inode
            }
        };
        Ok(MemoryFile {
            disk: self.clone(),
            inode,
            locked: false,
        })
    }

    fn open(&mut self, path: &Path) -> io::Result<Option<MemoryFile>> {
        let inode = self.0.lock().unwrap().state.names.get(path).copied();
        Ok(inode.map(|inode| MemoryFile {
            disk: self.clone(),
            inode,
            locked: false,
        }))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap();
        inner.may_write()?;
        inner.step(Step::Rename(from.to_path_buf(), to.to_path_buf()));
        Ok(())
    }

    fn rename_new(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        if self.0.lock().unwrap().state.names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.rename(from, to)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.0
            .lock()
            .unwrap()
            .step(Step::Remove(path.to_path_buf()));
        Ok(())
    }

    fn id_at(&self, path: &Path) -> io::Result<Option<FileId>> {
        let inode = self.0.lock().unwrap().state.names.get(path).copied();
        Ok(inode.map(|inode| FileId { device: 1, inode }))
    }
}

impl DiskFile for MemoryFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.disk.0.lock().unwrap();
        inner.may_write()?;
        if inner.fails_now() {
            // Half of a long write is there, and nothing of a head or a long.
            let half = bytes.len() / 16 * 8;
            inner.step(Step::Write(self.inode, offset, bytes[..half].to_vec()));
            return Err(io::ErrorKind::Other.into());
        }
        let allowed = inner
            .space
            .map_or(bytes.len(), |space| bytes.len().min(space as usize));
        inner.step(Step::Write(self.inode, offset, bytes[..allowed].to_vec()));
        if let Some(space) = &mut inner.space {
            *space -= allowed as u64;
        }
        if allowed < bytes.len() {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let inner = self.disk.0.lock().unwrap();
        let file = &inner.state.files[&self.inode];
        let from = offset as usize;
        let piece = file
            .get(from..from + bytes.len())
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(piece);
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.disk
            .0
            .lock()
            .unwrap()
            .step(Step::SetLen(self.inode, len));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.disk.0.lock().unwrap().fails_now() {
            return Err(io::ErrorKind::Other.into());
        }
        Ok(())
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        self.locked = self.disk.0.lock().unwrap().locked.insert(self.inode);
        Ok(self.locked)
    }

    fn id(&self) -> io::Result<FileId> {
        Ok(FileId {
            device: 1,
            inode: self.inode,
        })
    }
}
