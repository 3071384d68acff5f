-- Returns documents whose words were not read yet, of all organizations, the newest first. images:
-- those that are pictures, or all others that can have words. Plugin SQL sees one organization at a
-- time.
CREATE OR REPLACE FUNCTION documents.unread(images boolean, most integer)
RETURNS TABLE (organization_id text, id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT d.organization_id, d.id
    FROM documents.document d
    WHERE d.deleted_at IS NULL
        AND d.file_id IS NOT NULL
        AND d.words_file_id IS DISTINCT FROM d.file_id
        AND (d.mime_type = 'application/pdf' OR d.mime_type LIKE 'text/%'
            OR d.mime_type LIKE 'image/%')
        AND (d.mime_type LIKE 'image/%') = images
    ORDER BY d.created_at DESC
    LIMIT most
$$;
