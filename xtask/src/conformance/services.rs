//! The section of `docs/internals/support.md` on buckets and web servers.

/// The section. `cargo xtask remote` is what it rests on.
pub(super) const SECTION: &str = "
## Buckets and web servers

`cargo xtask remote` runs the store suite, arrays, writers that meet, and reads by other programs in both directions on
these servers. No cloud was tried: `cargo xtask remote --url s3://my-bucket/an-empty-prefix` (or `gs://…`, `az://…`) does so
with your account, and leaves what it wrote below the prefix.

| Service | tried with | other programs | not tried |
|---|---|---|---|
| Amazon S3 | moto 5.2.5 (with a lock around its puts: by itself it loses updates), the testkit's server | zarr-python with obstore and s3fs, tensorstore | S3 itself, S3 Express |
| Azure Blob Storage | azurite 3.37.0, the testkit's server | zarr-python with obstore | Azure itself |
| Google Cloud Storage | only the testkit's server: no other has generations and ranges | none | Google itself |
| web servers | nginx 1.22.1, lighttpd 1.4.69 (it serves the file `a` as `a/b`, too), Python's `http.server` (it has no ranges), the testkit's server | tensorstore, zarr-python with obstore | IPv6, HTTP/2, proxies |
| what speaks like S3: R2, MinIO, Ceph, Backblaze B2 and others | the testkit's server that ignores conditions: updates are refused | none | all of it; s3s-fs 0.14.1 checks conditions too late and loses updates, `--only s3s-fs` shows how |
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python;

    /// The page is written by a run of hours; this section is not.
    #[test]
    fn the_page_has_this_section() {
        let page = std::fs::read_to_string(python::repository().join("docs/internals/support.md"))
            .expect("the page");
        assert!(page.contains(SECTION), "copy the section into docs/internals/support.md");
    }
}
