-- Finds a version of a live document, and its picture if that was made. $1 organization,
-- $2 document, $3 number of the version (null: the current one), $4 page, $5 width.
SELECT d.status, d.filename, coalesce(d.file_id, ''), coalesce(v.number, 0),
    coalesce(v.file_id, ''), coalesce(v.mime_type, ''), coalesce(p.file_id, ''),
    coalesce(p.checksum_md5, '')
FROM documents.document d
LEFT JOIN documents.version v
    ON v.organization_id = d.organization_id AND v.document_id = d.id
        AND v.number = coalesce($3::integer, d.number)
LEFT JOIN documents.preview p
    ON p.organization_id = v.organization_id AND p.document_id = v.document_id
        AND p.number = v.number AND p.page = $4::integer AND p.width = $5::integer
WHERE d.organization_id = $1::text AND d.id = $2::text AND d.deleted_at IS NULL
