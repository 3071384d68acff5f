-- Drops pictures of a version beyond the newest so many, and returns their files. $1 organization,
-- $2 document, $3 number of the version, $4 how many stay.
DELETE FROM documents.preview p
WHERE p.organization_id = $1::text AND p.document_id = $2::text AND p.number = $3::integer
    AND (p.page, p.width) IN (
        SELECT o.page, o.width
        FROM documents.preview o
        WHERE o.organization_id = $1::text AND o.document_id = $2::text
            AND o.number = $3::integer
        ORDER BY o.created_at DESC, o.page DESC, o.width DESC
        OFFSET $4::bigint
    )
RETURNING p.file_id
