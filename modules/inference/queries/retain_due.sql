-- Reads the readings whose images have been kept for long enough, the oldest first: id, images.
-- $1 organization, $2 days, or null: for ever, $3 now, $4 how many at most.
SELECT t.id, t.images_kept
FROM inference.shipping_label t
WHERE t.organization_id = $1::text AND t.has_images AND t.status <> 'processing'
    AND t.created_at < $3::timestamptz - make_interval(days => $2::integer)
ORDER BY t.created_at
LIMIT $4::integer
FOR UPDATE OF t SKIP LOCKED
