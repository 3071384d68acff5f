-- Each link has its document and its resource.
-- rows: documents.link
-- Delete the row: what it names is gone.
SELECT t.organization_id, t.id,
    CASE WHEN d.id IS NULL THEN 'is of the document ' || t.document_id || ', which is not there'
        ELSE 'names the ' || t.resource_type || ' ' || t.resource_id || ', which is not there' END
FROM documents.link t
LEFT JOIN documents.document d ON d.organization_id = t.organization_id
    AND d.id = t.document_id AND d.deleted_at IS NULL
WHERE d.id IS NULL OR NOT {there documents,t.resource_type,t.resource_id}
