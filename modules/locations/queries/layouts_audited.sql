-- Marks layouts as counted, locked in the order of their ids. $1 location, $2 organization, $3 now,
-- $4 layouts.
UPDATE locations.layout l
SET last_audited_at = $3::timestamptz, version = l.version + 1
FROM (
    SELECT y.id
    FROM locations.layout y
    WHERE y.organization_id = $2::text AND y.location_id = $1::text
        AND y.id = ANY ((SELECT $4::text[])::text[])
        AND y.deleted_at IS NULL
    ORDER BY y.id
    FOR UPDATE
) held
WHERE l.organization_id = $2::text AND l.id = held.id
