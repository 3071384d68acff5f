-- Finds the oldest live document with the same bytes. $1 organization, $2 SHA-256, $3 the document
-- that is written.
SELECT id
FROM documents.document
WHERE organization_id = $1::text
    AND lower(checksum_sha256) = $2::text
    AND status = 'completed'
    AND deleted_at IS NULL
    AND id <> $3::text
ORDER BY created_at, id
LIMIT 1
