-- Makes the default layouts of locations. $1 organization, $2 layouts, $3 their locations, $4 their
-- checksums, $5 microseconds of now, $6 actor.
INSERT INTO locations.layout (
    organization_id, id, location_id, name, root_id, nested_name, is_default, checksum, created_at,
    updated_at, created_by, updated_by
)
SELECT $1::text, x.id, x.location_id, 'Default', x.id, 'Default', true, x.checksum, t.now, t.now,
    $6::text, $6::text
FROM unnest((SELECT $2::text[]), (SELECT $3::text[]), (SELECT $4::text[])) x(
        id, location_id, checksum
    ),
    (SELECT to_timestamp($5::bigint / 1000 / 1000.0) AS now) t
