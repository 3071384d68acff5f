-- Takes a batch over. The run before ended in order when it was counted as a failed one; else its
-- process died, and what it ran is a suspect. $1 batch, $2 organization, $3 now, $4 failed runs so
-- far.
UPDATE batches.batch
SET lease = lease + 1, status = 'processing', started_at = coalesce(started_at, $3::timestamptz),
    tries = CASE WHEN status = 'processing' AND runs = $4::bigint THEN tries + 1 ELSE 1 END,
    runs = $4::bigint, updated_at = $3::timestamptz, version = version + 1
WHERE organization_id = $2::text AND id = $1::text AND status IN ('queued', 'processing')
RETURNING id
