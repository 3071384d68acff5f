-- Files of each export that is completed are there until it is over.
-- rows: exports.export
-- Ask for the export again.
SELECT e.organization_id, e.id, 'its file ' || n.id || ' is not there'
FROM exports.export e
CROSS JOIN LATERAL (
    VALUES (e.csv_file), (e.json_file), (e.csv_error_file), (e.csv_sanitized_file)
) n(id)
LEFT JOIN wharf.file f
    ON f.organization_id = e.organization_id AND f.id = n.id AND f.state = 'stored'
WHERE e.deleted_at IS NULL
    AND e.state = 'completed'
    AND e.expires_at > wharf.now()
    AND n.id IS NOT NULL
    AND f.id IS NULL
