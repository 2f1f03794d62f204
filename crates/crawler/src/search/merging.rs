//! Which segments of the index are merged: by the bytes of their files, since a merge maps what it reads into memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tantivy::index::SegmentMeta;
use tantivy::indexer::{LogMergePolicy, MergeCandidate, MergePolicy};

/// Bytes that one merge reads at most. They are mapped files, which the kernel counts into the memory of the process.
pub(super) const MERGED_BYTES: u64 = 96 << 20;

/// tantivy's policy of merging segments of a similar number of documents, as long as the bytes of a merge stay within a limit. A segment
/// that has half of it isn't merged any more: it would be read and written again for a few documents.
#[derive(Debug)]
pub(super) struct MergeByBytes {
    dir: PathBuf,
    most: u64,
    by_documents: LogMergePolicy,
}

impl MergeByBytes {
    /// For the segments in `dir`, which merges up to `most` bytes at once.
    pub(super) fn new(dir: &Path, most: u64) -> Self {
        Self { dir: dir.to_owned(), most, by_documents: LogMergePolicy::default() }
    }

    /// Bytes of the files of each segment. The name of a file begins with the id of its segment.
    fn sizes(&self) -> io::Result<HashMap<String, u64>> {
        let mut sizes = HashMap::new();
        for file in fs::read_dir(&self.dir)? {
            let file = file?;
            // tantivy's other thread may remove a file between the two looks.
            let Ok(metadata) = file.metadata() else { continue };
            if let Some((id, _)) = file.file_name().to_string_lossy().split_once('.') {
                *sizes.entry(id.to_owned()).or_default() += metadata.len();
            }
        }
        Ok(sizes)
    }
}

impl MergePolicy for MergeByBytes {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let sizes = match self.sizes() {
            Ok(sizes) => sizes,
            Err(error) => {
                tracing::warn!(dir = %self.dir.display(), %error, "segments of the index are not merged: their sizes can't be read");
                return Vec::new();
            }
        };
        let size =
            |segment: &SegmentMeta| sizes.get(&segment.id().uuid_string()).copied().unwrap_or(self.most);
        let mut small: Vec<(u64, SegmentMeta)> =
            segments.iter().map(|segment| (size(segment), segment.clone())).collect();
        small.retain(|(bytes, _)| *bytes < self.most / 2);
        small.sort_by_key(|(bytes, _)| *bytes);
        let metas: Vec<SegmentMeta> = small.iter().map(|(_, segment)| segment.clone()).collect();
        let mut candidates = self.by_documents.compute_merge_candidates(&metas);
        for MergeCandidate(ids) in &mut candidates {
            let mut total = 0;
            let of_candidate = small.iter().filter(|(_, segment)| ids.contains(&segment.id()));
            let fitting = of_candidate.take_while(|(bytes, _)| {
                total += bytes;
                total <= self.most
            });
            *ids = fitting.map(|(_, segment)| segment.id()).collect();
        }
        candidates.retain(|MergeCandidate(ids)| ids.len() > 1);
        candidates
    }
}

#[cfg(test)]
mod tests {
    use tantivy::schema::{Schema, TEXT};
    use tantivy::{Index, IndexWriter, doc};

    use super::*;

    #[test]
    fn segments_are_merged_until_they_have_half_of_what_a_merge_may_read() {
        const MOST: u64 = 12 << 10;
        const COMMITS: u64 = 120;
        let dir = tempfile::tempdir().unwrap();
        let mut schema = Schema::builder();
        let text = schema.add_text_field("text", TEXT);
        let index = Index::create_in_dir(dir.path(), schema.build()).unwrap();
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).unwrap();
        writer.set_merge_policy(Box::new(MergeByBytes::new(dir.path(), MOST)));
        for commit in 0..COMMITS {
            for document in 0..5 {
                // Words that no other document has, so that a merged segment is about as large as its parts.
                let words = (0..100).map(|word| format!("w{commit}x{document}x{word}"));
                writer.add_document(doc!(text => words.collect::<Vec<_>>().join(" "))).unwrap();
            }
            writer.commit().unwrap();
        }
        writer.wait_merging_threads().unwrap();

        let segments = index.searchable_segment_metas().unwrap();
        assert_eq!(segments.iter().map(|segment| u64::from(segment.num_docs())).sum::<u64>(), COMMITS * 5);
        let policy = MergeByBytes::new(dir.path(), MOST);
        let of_files = policy.sizes().unwrap();
        let sizes: Vec<u64> = segments.iter().map(|segment| of_files[&segment.id().uuid_string()]).collect();
        // Two segments of a commit have more than half of the limit, so there is no third.
        assert!(sizes.iter().all(|bytes| *bytes <= MOST * 3 / 4), "{sizes:?}");
        assert!(sizes.iter().any(|bytes| *bytes >= MOST / 2), "{sizes:?}");
        // tantivy's policy waits for eight of a kind.
        assert!(sizes.iter().filter(|bytes| **bytes < MOST / 2).count() < 8, "{sizes:?}");
    }
}
