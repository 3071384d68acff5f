-- Each completed document has a stored file of its size and SHA-256.
-- rows: documents.document
-- Store the document's content again (POST /v1/documents/:id), or delete the document.
SELECT d.organization_id, d.id,
    'is completed, and its file ' || coalesce(d.file_id, 'null') || ' is not '
    || coalesce(d.size::text, 'null') || ' bytes of ' || coalesce(d.checksum_sha256, 'null')
FROM documents.document d
LEFT JOIN wharf.file f ON f.organization_id = d.organization_id AND f.id = d.file_id
WHERE d.deleted_at IS NULL AND d.status = 'completed'
    AND (f.id IS NULL OR f.state <> 'stored' OR f.size IS DISTINCT FROM d.size
        OR f.hash IS DISTINCT FROM d.checksum_sha256)
