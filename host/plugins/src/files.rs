//! What a guest may open: files and directories. Nothing else that a granted directory holds is
//! of use to it, and may do harm: a FIFO keeps whoever opens it waiting, in a thread of the host
//! that nobody can take back; a device has no end. A path that is a granted file's is opened by
//! [`crate::single`].

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, ErrorCode, Host as _, HostDescriptor, OpenFlags, PathFlags,
};

use crate::state::State;

/// As wasmtime-wasi links it; other versions of 0.2 are found under it.
const TYPES: &str = "wasi:filesystem/types@0.2.12";

type Asked = (
    Resource<Descriptor>,
    PathFlags,
    String,
    OpenFlags,
    DescriptorFlags,
);

/// Takes the place of wasmtime-wasi's own `open-at`, and hands on to it.
pub(crate) fn open_at(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.instance(TYPES)?.func_wrap_async(
        "[method]descriptor.open-at",
        |mut store: StoreContextMut<'_, State>, asked: Asked| {
            Box::new(async move {
                let state = store.data_mut();
                let answer = match opened(state, asked).await {
                    Ok(descriptor) => Ok(descriptor),
                    Err(error) => Err(state.filesystem().convert_error_code(error)?),
                };
                Ok((answer,))
            })
        },
    )
}

async fn opened(
    state: &mut State,
    (dir, follow, path, open, flags): Asked,
) -> FsResult<Resource<Descriptor>> {
    let (mut files, singles) = state.file_view();
    if let Some(single) = singles.find(files.table.get(&dir)?, &path).cloned() {
        let file = single.descriptor(open, flags).await?;
        return Ok(files.table.push(file)?);
    }
    // Before it is opened, for that may already wait. What isn't there may be created.
    let same = Resource::new_borrow(dir.rep());
    if let Ok(stat) = files.stat_at(same, follow, path.clone()).await
        && !is_plain(stat.type_)
    {
        return Err(ErrorCode::NotPermitted.into());
    }
    let descriptor = files.open_at(dir, follow, path, open, flags).await?;
    // And after, for it may have changed. Only who waits already is out of reach then, until the
    // call's own limit.
    let odd = match state.table.get(&descriptor)? {
        Descriptor::File(file) => !file.file.metadata().is_ok_and(|file| file.is_file()),
        Descriptor::Dir(_) => false,
    };
    if odd {
        state.table.delete(descriptor)?;
        return Err(ErrorCode::NotPermitted.into());
    }
    Ok(descriptor)
}

/// A link that isn't followed is refused by whoever opens it.
fn is_plain(kind: DescriptorType) -> bool {
    matches!(
        kind,
        DescriptorType::RegularFile | DescriptorType::Directory | DescriptorType::SymbolicLink
    )
}
