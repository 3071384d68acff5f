-- Keeps a picture, in the place of the one that was found unsound: no row when another one was
-- kept meanwhile. $1 organization, $2 document, $3 number of the version, $4 page, $5 width,
-- $6 file, $7 MD5, $8 now, $9 file that was unsound, or empty.
INSERT INTO documents.preview AS p (organization_id, document_id, number, page, width, file_id,
    checksum_md5, created_at)
VALUES ($1::text, $2::text, $3::integer, $4::integer, $5::integer, $6::text, $7::text,
    $8::timestamptz)
ON CONFLICT (organization_id, document_id, number, page, width) DO UPDATE
SET file_id = excluded.file_id, checksum_md5 = excluded.checksum_md5,
    created_at = excluded.created_at
WHERE p.file_id = $9::text
RETURNING file_id
