//! Object storage with a flaw, and with pauses.

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartId, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    /// An object is written though it is there.
    IgnoresCreate,
    /// An object is written though it is another version.
    IgnoresUpdate,
    /// The next object that is written over loses its answer. Two later ones do not arrive, one
    /// does, and none thereafter.
    LosesAnswer(u32),
}

/// A way to objects in memory.
#[derive(Debug)]
pub(super) struct Flawed {
    store: Arc<InMemory>,
    flaw: Mutex<Flaw>,
    /// Told when all objects of a folder are about to be listed, and what that waits for.
    pause: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

impl Flawed {
    pub(super) fn new(store: &Arc<InMemory>, flaw: Flaw) -> Arc<Self> {
        Arc::new(Self { store: store.clone(), flaw: Mutex::new(flaw), pause: Mutex::default() })
    }

    /// The next listing tells the receiver, and waits for the sender.
    pub(super) fn pause_list(&self) -> (Receiver<()>, Sender<()>) {
        let (reached, is_reached) = channel();
        let (go_on, may_go_on) = channel();
        *self.pause.lock() = Some((reached, may_go_on));
        (is_reached, go_on)
    }

    pub(super) fn set(&self, flaw: Flaw) {
        *self.flaw.lock() = flaw;
    }
}

impl fmt::Display for Flawed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

fn lost<T>() -> Result<T> {
    Err(Error::Generic { store: "flawed", source: "the answer is lost".into() })
}

#[async_trait]
impl ObjectStore for Flawed {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let overwriting = PutOptions { mode: PutMode::Overwrite, ..options.clone() };
        let flaw = *self.flaw.lock();
        match (flaw, &options.mode) {
            (Flaw::IgnoresCreate, PutMode::Create) | (Flaw::IgnoresUpdate, PutMode::Update(_)) => {
                self.store.put_opts(path, payload, overwriting).await
            }
            (Flaw::LosesAnswer(n), PutMode::Update(_)) => {
                self.set(Flaw::LosesAnswer(n + 1));
                match n {
                    0 => self.store.put_opts(path, payload, options).await.and_then(|_| lost()),
                    3 => self.store.put_opts(path, payload, options).await,
                    _ => lost(),
                }
            }
            _ => self.store.put_opts(path, payload, options).await,
        }
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.store.get_opts(path, options).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        if let Some((reached, may_go_on)) = self.pause.lock().take() {
            reached.send(()).unwrap();
            may_go_on.recv().unwrap();
        }
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}

#[async_trait]
impl MultipartStore for Flawed {
    async fn create_multipart(&self, path: &Path) -> Result<MultipartId> {
        self.store.create_multipart(path).await
    }

    async fn put_part(&self, path: &Path, id: &MultipartId, part: usize, data: PutPayload) -> Result<PartId> {
        self.store.put_part(path, id, part, data).await
    }

    async fn complete_multipart(
        &self,
        path: &Path,
        id: &MultipartId,
        parts: Vec<PartId>,
    ) -> Result<PutResult> {
        self.store.complete_multipart(path, id, parts).await
    }

    async fn abort_multipart(&self, path: &Path, id: &MultipartId) -> Result<()> {
        self.store.abort_multipart(path, id).await
    }
}
