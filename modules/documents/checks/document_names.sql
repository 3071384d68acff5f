-- Public documents, and no others, have a name by which they are read without a key.
-- rows: documents.document
-- Set visibility once more (POST /v1/documents/:id): to the other one, and back.
SELECT d.organization_id, d.id,
    'is ' || d.visibility || ', and has '
    || CASE WHEN t.id IS NULL THEN 'no name' ELSE 'a name' END
FROM documents.document d
LEFT JOIN wharf.token t
    ON t.organization_id = d.organization_id AND t.kind = 'documents.document' AND t.id = d.id
WHERE d.deleted_at IS NULL AND (d.visibility = 'public') <> (t.id IS NOT NULL)
