//! What a recording asks of the file system, so that tests can record, cut and refuse every step.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Tells files apart, whatever their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Device.
    pub device: u64,
    /// Inode.
    pub inode: u64,
}

/// Folders and names.
pub trait Disk: Send {
    /// An open file.
    type File: DiskFile;

    /// Makes a file, or opens the one that is there as it is.
    ///
    /// # Errors
    /// What the system says.
    fn create(&mut self, path: &Path) -> io::Result<Self::File>;

    /// Opens a file that exists; `None` when none does.
    ///
    /// # Errors
    /// What the system says.
    fn open(&mut self, path: &Path) -> io::Result<Option<Self::File>>;

    /// Gives the file at `from` the name `to` in one step, in place of any file that has it.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives the file at `from` the name `to` unless a file has it (an `AlreadyExists` error).
    ///
    /// # Errors
    /// What the system says.
    fn rename_new(&mut self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a name; none is no error.
    ///
    /// # Errors
    /// What the system says.
    fn remove(&mut self, path: &Path) -> io::Result<()>;

    /// The file that has the name now.
    ///
    /// # Errors
    /// What the system says.
    fn id_at(&self, path: &Path) -> io::Result<Option<FileId>>;
}

/// An open file.
pub trait DiskFile: Send {
    /// Writes all bytes at an offset.
    ///
    /// # Errors
    /// What the system says; some bytes may then be written.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Reads exactly `bytes.len()` bytes at an offset.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Sets the length; new bytes are zero and take no space.
    ///
    /// # Errors
    /// What the system says.
    fn set_len(&mut self, len: u64) -> io::Result<()>;

    /// Waits until the content is on the device.
    ///
    /// # Errors
    /// What the system says.
    fn sync(&mut self) -> io::Result<()>;

    /// Locks the file against other processes until it is closed; false when one of them has it.
    ///
    /// # Errors
    /// What the system says.
    fn try_lock(&mut self) -> io::Result<bool>;

    /// Which file it is.
    ///
    /// # Errors
    /// What the system says.
    fn id(&self) -> io::Result<FileId>;
}

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

/// A file of it.
#[derive(Debug)]
pub struct RealFile(File);

impl Disk for RealDisk {
    type File = RealFile;

    fn create(&mut self, path: &Path) -> io::Result<RealFile> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map(RealFile)
    }

    fn open(&mut self, path: &Path) -> io::Result<Option<RealFile>> {
        match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => Ok(Some(RealFile(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        sync_folder(to);
        Ok(())
    }

    fn rename_new(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        match fs::hard_link(from, to) {
            Ok(()) => fs::remove_file(from)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // A file system without hard links: the check and the rename are two steps there.
            Err(_) if to.symlink_metadata().is_ok() => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Err(_) => fs::rename(from, to)?,
        }
        sync_folder(to);
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn id_at(&self, path: &Path) -> io::Result<Option<FileId>> {
        match fs::metadata(path) {
            Ok(data) => Ok(Some(FileId {
                device: data.dev(),
                inode: data.ino(),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Makes a new name last; a folder that cannot be synced costs durability at a power cut, nothing else.
fn sync_folder(path: &Path) {
    if let Some(Ok(folder)) = path.parent().map(File::open) {
        _ = folder.sync_all();
    }
}

impl DiskFile for RealFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(bytes, offset)
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            // A file system without locks: nobody can be told apart, so nobody is there.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(true)
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn id(&self) -> io::Result<FileId> {
        let data = self.0.metadata()?;
        Ok(FileId {
            device: data.dev(),
            inode: data.ino(),
        })
    }
}
