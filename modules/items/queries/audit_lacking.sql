-- Finds the places, from 0, of tasks that are not counted, or, with a threshold, whose difference
-- is above it and has no reason. $1 audit, $2 organization, $3 threshold or null, $4 most rows.
SELECT k.place
FROM (
    SELECT row_number() OVER (ORDER BY t.position, t.id) - 1 AS place, t.*
    FROM items.audit_task t
    WHERE t.organization_id = $2::text AND t.audit_id = $1::text
) k
WHERE CASE WHEN $3::numeric IS NULL THEN k.counted IS NULL
    ELSE k.reason_code_id IS NULL AND abs(k.counted - k.total) > $3::numeric END
ORDER BY k.place
LIMIT $4::bigint
