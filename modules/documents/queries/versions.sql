-- Lists versions of a live document, newest first. $1 organization, $2 document, $3 limit,
-- $4 offset.
SELECT v.number, v.number = d.number, v.mime_type, v.size, v.checksum_md5, v.checksum_sha256,
    v.pages, v.width::double precision, v.height::double precision, v.created_at, v.created_by
FROM documents.version v
JOIN documents.document d
    ON d.organization_id = v.organization_id AND d.id = v.document_id AND d.deleted_at IS NULL
WHERE v.organization_id = $1::text AND v.document_id = $2::text
ORDER BY v.number DESC
LIMIT $3::bigint
OFFSET $4::bigint
