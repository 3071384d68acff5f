-- Ends an export. $1 organization, $2 export, $3 state, $4 error, $5 to $8 files: CSV, JSON,
-- errors, sanitized rows, $9 rows in all or null, $10 to $12 rows exported, wrong, sanitized, $13
-- now, $14 when the files are erased.
UPDATE exports.export
SET state = $3::text, error = $4::jsonb, csv_file = $5::text, json_file = $6::text,
    csv_error_file = $7::text, csv_sanitized_file = $8::text,
    total_rows = coalesce($9::bigint, total_rows), exported_rows = $10::bigint,
    error_rows = $11::bigint, sanitized_rows = $12::bigint,
    progress = CASE WHEN $3::text = 'completed' THEN 100 ELSE progress END,
    finished_at = $13::timestamptz, expires_at = $14::timestamptz,
    updated_at = $13::timestamptz, version = version + 1
WHERE organization_id = $1::text AND id = $2::text AND state = 'processing'
RETURNING 1
