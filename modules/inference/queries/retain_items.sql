-- Reads the readings of item labels whose images have been kept for long enough, the oldest first:
-- id, images. $1 organization, $2 days, or null: for ever, $3 now, $4 how many at most.
SELECT t.id, jsonb_build_array(jsonb_build_object('file', t.image_file))
FROM inference.item_label t
WHERE t.organization_id = $1::text AND t.image_file IS NOT NULL
    AND t.created_at < $3::timestamptz - make_interval(days => $2::integer)
ORDER BY t.created_at
LIMIT $4::integer
FOR UPDATE OF t SKIP LOCKED
