-- Makes the default layout of a location. $1 organization, $2 layout, $3 location, $4 checksum, $5
-- microseconds of now, $6 actor.
INSERT INTO locations.layout (
    organization_id, id, location_id, name, root_id, nested_name, is_default, checksum, created_at,
    updated_at, created_by, updated_by
)
SELECT $1::text, $2::text, $3::text, 'Default', $2::text, 'Default', true, $4::text, t.now, t.now,
    $6::text, $6::text
FROM (SELECT to_timestamp($5::bigint / 1000 / 1000.0) AS now) t
