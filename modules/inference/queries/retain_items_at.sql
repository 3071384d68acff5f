-- Reads the same where locations have settings of their own, which win. Where nothing is to be
-- erased anywhere no reading is looked at.
SELECT t.id, jsonb_build_array(jsonb_build_object('file', t.image_file))
FROM inference.item_label t
LEFT JOIN locations.location l ON l.organization_id = t.organization_id AND l.id = t.location_id
WHERE t.organization_id = $1::text AND t.image_file IS NOT NULL
    AND t.created_at < $3::timestamptz - make_interval(
        days => coalesce((l.settings #>> '{inferences,retain_images_days}')::integer, $2::integer)
    )
    AND ($2::integer IS NOT NULL OR EXISTS (
        SELECT FROM locations.location x
        WHERE x.organization_id = $1::text
            AND x.settings #>> '{inferences,retain_images_days}' IS NOT NULL
    ))
ORDER BY t.created_at
LIMIT $4::integer
FOR UPDATE OF t SKIP LOCKED
