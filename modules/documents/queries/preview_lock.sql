-- Keeps a live document and one of its versions from going. $1 organization, $2 document,
-- $3 number of the version, $4 its file.
SELECT v.number
FROM documents.document d
JOIN documents.version v ON v.organization_id = d.organization_id AND v.document_id = d.id
WHERE d.organization_id = $1::text AND d.id = $2::text AND d.deleted_at IS NULL
    AND v.number = $3::integer AND v.file_id = $4::text
FOR SHARE
