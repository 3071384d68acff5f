-- Each picture of a document has its version and a stored file.
-- rows: documents.preview
-- Delete the row: the picture is made again when it is asked for.
SELECT p.organization_id, p.document_id,
    'has a picture of page ' || p.page || ' of version ' || p.number
    || CASE WHEN v.number IS NULL OR d.id IS NULL THEN ', which is not there'
        ELSE ' without its file ' || p.file_id END
FROM documents.preview p
LEFT JOIN documents.document d ON d.organization_id = p.organization_id
    AND d.id = p.document_id AND d.deleted_at IS NULL
LEFT JOIN documents.version v ON v.organization_id = p.organization_id
    AND v.document_id = p.document_id AND v.number = p.number
LEFT JOIN wharf.file f ON f.organization_id = p.organization_id AND f.id = p.file_id
WHERE v.number IS NULL OR d.id IS NULL OR f.id IS NULL OR f.state <> 'stored'
