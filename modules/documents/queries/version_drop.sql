-- Drops versions up to a number, and returns their files. $1 organization, $2 document, $3 number.
DELETE FROM documents.version
WHERE organization_id = $1::text AND document_id = $2::text AND number <= $3::integer
RETURNING file_id
