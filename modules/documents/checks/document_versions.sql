-- Each document has as many versions as it says, and its current one is the newest of them.
-- rows: documents.document
SELECT d.organization_id, d.id,
    'says that it has ' || d.versions_count || ' versions up to ' || d.number || ' with the file '
    || coalesce(d.file_id, 'null') || ', and has ' || v.n || ' up to ' || coalesce(v.newest, 0)
FROM documents.document d
CROSS JOIN LATERAL (
    SELECT count(*) AS n, max(x.number) AS newest,
        (array_agg(x.file_id ORDER BY x.number DESC))[1] AS file_id
    FROM documents.version x
    WHERE x.organization_id = d.organization_id AND x.document_id = d.id
) v
WHERE d.deleted_at IS NULL
    AND (v.n <> d.versions_count OR coalesce(v.newest, 1) <> d.number
        OR v.file_id IS DISTINCT FROM d.file_id)
