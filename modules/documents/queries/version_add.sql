-- Adds a version of a document. $1 organization, $2 document, $3 number, $4 file, $5 type,
-- $6 bytes, $7 MD5, $8 SHA-256, $9 pages, $10 width, $11 height, $12 now, $13 who stored it.
INSERT INTO documents.version (organization_id, document_id, number, file_id, mime_type, size,
    checksum_md5, checksum_sha256, pages, width, height, created_at, created_by)
VALUES ($1::text, $2::text, $3::integer, $4::text, $5::text, $6::bigint, $7::text, $8::text,
    $9::integer, $10::numeric, $11::numeric, $12::timestamptz, $13::text)
