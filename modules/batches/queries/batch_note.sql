-- Notes how far a batch is, as long as nobody else took it over. Returns whether it is to be
-- canceled. $1 batch, $2 organization, $3 phases, $4 counts, $5 progress, $6 status, $7 reason, $8
-- now, $9 is it over, $10 tries, $11 lease, $12 number of items.
UPDATE batches.batch
SET phases = $3::jsonb, stats = $4::jsonb, progress = greatest(progress, $5::bigint),
    status = $6::text, reason = $7::text,
    started_at = CASE $6::text
        WHEN 'queued' THEN started_at
        ELSE coalesce(started_at, $8::timestamptz)
    END,
    finished_at = CASE WHEN $9::boolean THEN $8::timestamptz END, tries = $10::integer,
    total = $12::bigint, updated_at = $8::timestamptz, version = version + 1
WHERE organization_id = $2::text AND id = $1::text AND lease = $11::bigint
RETURNING cancel_asked
