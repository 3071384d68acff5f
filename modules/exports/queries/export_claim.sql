-- Takes an export over. $1 organization, $2 export, $3 now.
UPDATE exports.export
SET state = 'processing', runs = runs + 1, progress = 0, exported_rows = 0,
    started_at = coalesce(started_at, $3::timestamptz), updated_at = $3::timestamptz,
    version = version + 1
WHERE organization_id = $1::text AND id = $2::text AND state IN ('queued', 'processing')
RETURNING resource, key_id, options, csv_field_options, formats @> '["csv"]', formats @> '["json"]',
    runs, chosen_columns
