//! A host that remembers what it was told.

use crate::Host;
use crate::abi::{self, Bytes, rc};
use crate::raw::{self, HostLink};
use std::sync::{Arc, Mutex, PoisonError};

/// A host that remembers what it was told.
pub struct TestHost {
    told: Arc<Mutex<Told>>,
    link: Arc<HostLink>,
    // What `link` points to.
    _raw: Box<abi::Host>,
}

#[derive(Default)]
struct Told {
    log: Vec<(u32, String)>,
    wakes: usize,
    published: Vec<(String, serde_json::Value)>,
}

impl Default for TestHost {
    fn default() -> Self {
        Self::new()
    }
}

impl TestHost {
    /// A host that has been told nothing.
    pub fn new() -> Self {
        let told = Arc::new(Mutex::new(Told::default()));
        let raw = Box::new(abi::Host {
            struct_size: raw::size_of::<abi::Host>(),
            abi_major: abi::ABI_MAJOR,
            abi_minor: abi::ABI_MINOR,
            ctx: Arc::as_ptr(&told).cast_mut().cast(),
            log: Some(host_log),
            wake: Some(host_wake),
            publish: Some(host_publish),
            get_extension: None,
        });
        // SAFETY: both `raw` and what its `ctx` points to live until after `drop`, which closes the link.
        let link = unsafe { HostLink::new(&raw const *raw) };
        Self { told, link, _raw: raw }
    }

    /// The host, as an instance gets it.
    pub fn host(&self) -> Host {
        Host(Arc::clone(&self.link))
    }

    /// The lines that were logged: level (see [`abi::level`]) and text.
    pub fn log(&self) -> Vec<(u32, String)> {
        self.told(|told| told.log.clone())
    }

    /// How often `wake` was called.
    pub fn wakes(&self) -> usize {
        self.told(|told| told.wakes)
    }

    /// What was published: topic and object.
    pub fn published(&self) -> Vec<(String, serde_json::Value)> {
        self.told(|told| told.published.clone())
    }

    fn told<R>(&self, read: impl FnOnce(&Told) -> R) -> R {
        read(&self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        self.link.close();
    }
}

/// # Safety
/// `host` is the one of a [`TestHost`] that lives.
unsafe fn tell(host: *const abi::Host, what: impl FnOnce(&mut Told)) {
    // SAFETY: `ctx` points into the host's `Arc`.
    let told = unsafe { &*(*host).ctx.cast_const().cast::<Mutex<Told>>() };
    what(&mut told.lock().unwrap_or_else(PoisonError::into_inner));
}

unsafe extern "C" fn host_log(host: *const abi::Host, level: u32, text: Bytes) {
    // SAFETY: the caller's bytes.
    let text = String::from_utf8_lossy(unsafe { text.as_slice() }).into_owned();
    // SAFETY: called through the link.
    unsafe { tell(host, |told| told.log.push((level, text))) };
}

unsafe extern "C" fn host_wake(host: *const abi::Host) {
    // SAFETY: called through the link.
    unsafe { tell(host, |told| told.wakes += 1) };
}

unsafe extern "C" fn host_publish(host: *const abi::Host, topic: Bytes, json: Bytes) -> i32 {
    // SAFETY: the caller's bytes.
    let (topic, json) = unsafe { (topic.as_slice(), json.as_slice()) };
    let Ok(value) = serde_json::from_slice(json) else { return rc::ERR_BAD_ARG };
    let topic = String::from_utf8_lossy(topic).into_owned();
    // SAFETY: called through the link.
    unsafe { tell(host, |told| told.published.push((topic, value))) };
    rc::OK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_gone_is_not_called() {
        let host = TestHost::new();
        let kept = host.host();
        kept.info("a line");
        kept.wake();
        kept.publish("race", &serde_json::json!({"lap": 1}));
        kept.publish("race", &5);
        assert_eq!(host.log()[0], (abi::level::INFO, "a line".to_owned()));
        assert_eq!(host.log()[1].1, "a push to topic \"race\" must be a JSON object, this is 5");
        assert_eq!(host.wakes(), 1);
        assert_eq!(host.published(), [("race".to_owned(), serde_json::json!({"lap": 1}))]);
        drop(host);
        kept.info("nobody hears this");
    }
}
