//! Against a service on loopback.

use std::fs;
use std::path::Path;

use object_store::aws::AmazonS3Builder;
use object_store::multipart::MultipartStore as _;
use tempfile::TempDir;

use self::bucket::Service;
use super::{Bucket, Objects, ObjectsError, PART};

#[path = "../../../tests/cluster/bucket.rs"]
mod bucket;

fn objects(service: &Service) -> Objects {
    let builder = service.environment().into_iter().fold(AmazonS3Builder::new(), |builder, (name, value)| {
        builder.with_config(name.to_ascii_lowercase().parse().unwrap(), value)
    });
    let bucket = Bucket { name: "b".to_owned(), prefix: "study/warc".to_owned() };
    Objects::of(builder, &bucket).unwrap()
}

/// A file of this many bytes, none of them like the ones before.
fn file(dir: &Path, name: &str, length: usize) -> std::path::PathBuf {
    let path = dir.join(name);
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(name.as_bytes()).finalize_xof().fill(&mut bytes);
    fs::write(&path, bytes).unwrap();
    path
}

#[tokio::test]
async fn a_file_of_any_size_is_stored_whole_and_read_back() {
    let (service, dir, back) = (Service::start(), TempDir::new().unwrap(), TempDir::new().unwrap());
    let objects = objects(&service);
    for (name, length, parts) in [
        ("none", 0, 0),
        ("small", 1_000, 0),
        ("part", PART, 0),
        ("more", PART + 1, 2),
        ("large", 3 * PART - 1, 3),
    ] {
        let path = file(dir.path(), name, length);
        service.stored().requests.clear();
        assert_eq!(objects.put(&path).await.unwrap(), format!("s3://b/study/warc/{name}"));
        let sent = service.stored().requests.iter().filter(|line| line.contains("partNumber=")).count();
        assert_eq!(sent, parts, "{name}");
        let bytes = fs::read(&path).unwrap();
        assert!(service.stored().objects[&format!("/b/study/warc/{name}")] == bytes, "{name}");
        assert!(fs::read(objects.get(name, back.path()).await.unwrap()).unwrap() == bytes, "{name}");
    }
    assert_eq!(service.stored().unsigned, 0);
    assert!(service.stored().uploads.is_empty());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 5, "no upload is noted any more");
}

#[tokio::test]
async fn an_upload_that_fails_vanishes_and_one_that_stumbles_does_not() {
    let (service, dir) = (Service::start(), TempDir::new().unwrap());
    let objects = objects(&service);
    let path = file(dir.path(), "large", 2 * PART + 1);
    service.stored().fails = Some(("partNumber=2".to_owned(), 99));
    assert!(matches!(objects.put(&path).await, Err(ObjectsError::Service { doing: "write", .. })));
    assert!(service.stored().uploads.is_empty() && service.stored().objects.is_empty());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "the file is here, and nothing else");
    service.stored().fails = Some(("partNumber=2".to_owned(), 2));
    objects.put(&path).await.unwrap();
    assert!(service.stored().objects["/b/study/warc/large"] == fs::read(&path).unwrap());
}

#[tokio::test]
async fn what_a_killed_process_left_of_an_upload_vanishes_when_it_starts_again() {
    let (service, dir) = (Service::start(), TempDir::new().unwrap());
    let objects = objects(&service);
    let path = file(dir.path(), "large", PART + 1);
    let id = objects.store.create_multipart(&objects.name("large")).await.unwrap();
    let noted = dir.path().join("large.upload");
    fs::write(&noted, &id).unwrap();
    service.stored().fails = Some(("DELETE".to_owned(), 99));
    objects.abort_unfinished(dir.path()).await;
    assert!(noted.exists(), "as long as the service doesn't know");
    service.stored().fails = None;
    objects.abort_unfinished(dir.path()).await;
    assert!(service.stored().uploads.is_empty() && !noted.exists() && path.exists());
    // One that the service has forgotten is done with.
    fs::write(&noted, &id).unwrap();
    objects.abort_unfinished(dir.path()).await;
    assert!(!noted.exists());
}

#[tokio::test]
async fn a_place_is_of_one_crawl() {
    let service = Service::start();
    let objects = objects(&service);
    objects.claim("one").await.unwrap();
    objects.claim("one").await.unwrap();
    assert!(
        matches!(objects.claim("two").await, Err(ObjectsError::OtherCrawl(place)) if place == "s3://b/study/warc")
    );
}

#[tokio::test]
async fn an_archive_is_not_sent_unencrypted_unless_that_is_asked_for() {
    let service = Service::start();
    let [endpoint, _, key, secret, _] = service.environment();
    let builder =
        [endpoint, key, secret].into_iter().fold(AmazonS3Builder::new(), |builder, (name, value)| {
            builder.with_config(name.to_ascii_lowercase().parse().unwrap(), value)
        });
    let objects = Objects::of(builder, &Bucket { name: "b".to_owned(), prefix: String::new() }).unwrap();
    let failed = crate::causes::with_causes(&objects.claim("one").await.unwrap_err());
    assert!(failed.contains("AWS_ALLOW_HTTP=true"), "{failed}");
    assert!(service.stored().requests.is_empty());
}
