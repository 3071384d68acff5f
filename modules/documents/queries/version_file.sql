-- Finds the file of a version of a live document. $1 organization, $2 document, $3 number.
SELECT v.file_id
FROM documents.version v
JOIN documents.document d
    ON d.organization_id = v.organization_id AND d.id = v.document_id AND d.deleted_at IS NULL
WHERE v.organization_id = $1::text AND v.document_id = $2::text AND v.number = $3::integer
