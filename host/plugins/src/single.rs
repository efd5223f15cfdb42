//! Single files that a plugin is granted. WASI knows directories only, so what leads to
//! such a file are its directory's name and a few functions of `wasi:filesystem` that are
//! linked here in the place of the usual ones: a path that is just a granted file's is
//! opened by the host, relative to a handle of its directory and without following a
//! link; any other goes to the directory that is there, which is an empty one unless the
//! plugin has been granted it as well.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, fstat, ftruncate, openat};
use rustix::io::Errno;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemCtxView};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, ErrorCode, HostDescriptor, MetadataHashValue, OpenFlags,
    PathFlags,
};
use wasmtime_wasi::{FsPerms, OpenMode};

use crate::state::State;

/// The names under which wasmtime-wasi links these interfaces.
const TYPES: &str = "wasi:filesystem/types@0.2.12";
const PREOPENS: &str = "wasi:filesystem/preopens@0.2.12";

/// The granted files of one call.
#[derive(Default)]
pub(crate) struct Singles {
    files: HashMap<String, Single>,
    /// The guest paths of the preopened directories, by their handle's address: WASI's
    /// context holds the handles for as long as this lives.
    preopened: HashMap<usize, String>,
}

/// One file.
#[derive(Clone)]
pub(crate) struct Single {
    /// Its directory, opened without following a link.
    pub(crate) parent: Arc<OwnedFd>,
    /// Its name in there.
    pub(crate) name: String,
    /// May it be changed?
    pub(crate) write: bool,
}

impl Singles {
    /// A further file under its path in the guest.
    pub(crate) fn add(&mut self, guest_path: String, file: Single) {
        self.files.insert(guest_path, file);
    }

    fn preopened(&mut self, descriptor: &Descriptor, guest_path: &str) {
        if let Descriptor::Dir(dir) = descriptor
            && !self.files.is_empty()
        {
            let at = Arc::as_ptr(&dir.dir).addr();
            self.preopened.insert(at, guest_path.to_owned());
        }
    }

    /// The file that is meant by a path relative to a preopened directory.
    pub(crate) fn find(&self, descriptor: &Descriptor, path: &str) -> Option<&Single> {
        let Descriptor::Dir(dir) = descriptor else {
            return None;
        };
        let base = self.preopened.get(&Arc::as_ptr(&dir.dir).addr())?;
        // Whoever says that it is a directory doesn't mean a file.
        if path.ends_with("/.") {
            return None;
        }
        let mut full = base.clone();
        for part in path.split('/') {
            match part {
                "." => {}
                // An absolute path, or one that ends in a `/`, is no file's.
                "" | ".." => return None,
                name => {
                    full.push('/');
                    full.push_str(name);
                }
            }
        }
        self.files.get(&full)
    }
}

impl Single {
    /// Opens it as it is now. Whatever was put in its place but a file is refused.
    fn open(&self, how: OpenFlags, flags: DescriptorFlags) -> Result<(File, OpenMode), ErrorCode> {
        let changes = how.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE)
            || flags.contains(DescriptorFlags::WRITE);
        if changes && !self.write {
            return Err(ErrorCode::NotPermitted);
        }
        let mut mode = OpenMode::empty();
        mode.set(OpenMode::WRITE, changes);
        let reads = flags.contains(DescriptorFlags::READ) || !changes;
        mode.set(OpenMode::READ, reads);
        let mut open = match (reads, changes) {
            (true, true) => OFlags::RDWR,
            (false, _) => OFlags::WRONLY,
            (true, false) => OFlags::RDONLY,
        };
        // With NONBLOCK a pipe that was put there can't hold us up.
        open |= OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        open.set(OFlags::CREATE, how.contains(OpenFlags::CREATE));
        open.set(OFlags::EXCL, how.contains(OpenFlags::EXCLUSIVE));
        let file =
            openat(&*self.parent, &self.name, open, Mode::from_raw_mode(0o666)).map_err(code)?;
        let kind = FileType::from_raw_mode(fstat(&file).map_err(code)?.st_mode);
        if kind != FileType::RegularFile {
            return Err(ErrorCode::NotPermitted);
        }
        if how.contains(OpenFlags::DIRECTORY) {
            return Err(ErrorCode::NotDirectory);
        }
        if how.contains(OpenFlags::TRUNCATE) {
            ftruncate(&file, 0).map_err(code)?;
        }
        Ok((File::from(file), mode))
    }

    /// The same beside the guests: a file system may take its time.
    pub(crate) async fn descriptor(
        self,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> Result<Descriptor, ErrorCode> {
        let perms = if self.write {
            FsPerms::ReadWrite
        } else {
            FsPerms::ReadOnly
        };
        let opened = tokio::task::spawn_blocking(move || self.open(how, flags)).await;
        let (file, mode) = opened.map_err(|_| ErrorCode::Io)??;
        let file = wasmtime_wasi::filesystem::File::new(file, perms, mode, false);
        Ok(Descriptor::File(file))
    }
}

fn code(error: Errno) -> ErrorCode {
    match error {
        Errno::NOENT => ErrorCode::NoEntry,
        Errno::LOOP => ErrorCode::Loop,
        Errno::ACCESS => ErrorCode::Access,
        Errno::EXIST => ErrorCode::Exist,
        Errno::ISDIR => ErrorCode::IsDirectory,
        Errno::NOSPC => ErrorCode::InsufficientSpace,
        Errno::DQUOT => ErrorCode::Quota,
        Errno::ROFS => ErrorCode::ReadOnly,
        Errno::PERM | Errno::NXIO => ErrorCode::NotPermitted,
        _ => ErrorCode::Io,
    }
}

type Store<'a> = StoreContextMut<'a, State>;
type Fd = Resource<Descriptor>;

/// Puts these functions in the place of those that know directories only; `open-at` is in [`crate::files`].
pub(crate) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut instance = linker.instance(PREOPENS)?;
    instance.func_wrap("get-directories", |mut store: Store<'_>, (): ()| {
        let state = store.data_mut();
        let (mut view, singles) = state.file_view();
        let found = preopens::Host::get_directories(&mut view)?;
        for (fd, path) in &found {
            singles.preopened(view.table.get(fd)?, path);
        }
        Ok((found,))
    })?;
    let mut instance = linker.instance(TYPES)?;
    instance.func_wrap_async(
        "[method]descriptor.stat-at",
        |mut store: Store<'_>, (fd, flags, path): (Fd, PathFlags, String)| {
            Box::new(async move {
                let (mut view, singles) = store.data_mut().file_view();
                let stat: FsResult<DescriptorStat> =
                    match looked_at(&mut view, singles, &fd, &path).await? {
                        None => view.stat_at(fd, flags, path).await,
                        Some(Err(code)) => Err(code.into()),
                        Some(Ok(file)) => {
                            let stat = view.stat(Resource::new_borrow(file.rep())).await;
                            view.table.delete(file)?;
                            stat
                        }
                    };
                answer(stat)
            })
        },
    )?;
    instance.func_wrap_async(
        "[method]descriptor.metadata-hash-at",
        |mut store: Store<'_>, (fd, flags, path): (Fd, PathFlags, String)| {
            Box::new(async move {
                let (mut view, singles) = store.data_mut().file_view();
                let hash: FsResult<MetadataHashValue> =
                    match looked_at(&mut view, singles, &fd, &path).await? {
                        None => view.metadata_hash_at(fd, flags, path).await,
                        Some(Err(code)) => Err(code.into()),
                        Some(Ok(file)) => {
                            let hash = view.metadata_hash(Resource::new_borrow(file.rep())).await;
                            view.table.delete(file)?;
                            hash
                        }
                    };
                answer(hash)
            })
        },
    )?;
    Ok(())
}

/// A granted file, opened to be looked at; `None` if the path is no such file's.
async fn looked_at(
    view: &mut WasiFilesystemCtxView<'_>,
    singles: &Singles,
    fd: &Fd,
    path: &str,
) -> wasmtime::Result<Option<Result<Fd, ErrorCode>>> {
    let Some(single) = singles.find(view.table.get(fd)?, path).cloned() else {
        return Ok(None);
    };
    Ok(Some(
        match single
            .descriptor(OpenFlags::empty(), DescriptorFlags::READ)
            .await
        {
            Ok(file) => Ok(view.table.push(file)?),
            Err(code) => Err(code),
        },
    ))
}

fn answer<T>(result: FsResult<T>) -> wasmtime::Result<(Result<T, ErrorCode>,)> {
    match result {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => Ok((Err(error.downcast()?),)),
    }
}
