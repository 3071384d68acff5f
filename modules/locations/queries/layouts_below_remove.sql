-- Removes what lies below a layout, and returns the ids. $1 layout, $2 organization, $3
-- microseconds of now, $4 actor.
:layouts_below, gone AS (
    UPDATE locations.layout l
    SET deleted_at = to_timestamp($3::bigint / 1000 / 1000.0), updated_by = $4::text,
        version = version + 1
    FROM down
    WHERE l.organization_id = $2::text AND l.id = down.id AND l.id <> $1::text
    RETURNING l.id
)
SELECT id
FROM gone
ORDER BY id
