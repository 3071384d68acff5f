-- Gives a user or a device access to new locations, when it has not access to all. $1 organization,
-- $2 the user or device, $3 the locations. Answers a row when there is one.
WITH u AS (
    UPDATE wharf.user
    SET locations = locations || $3::jsonb, version = version + jsonb_array_length($3::jsonb)
    WHERE organization_id = $1::text AND id = $2::text AND NOT allow_all_locations
        AND deleted_at IS NULL
    RETURNING id
), d AS (
    UPDATE wharf.device
    SET locations = locations || $3::jsonb, version = version + jsonb_array_length($3::jsonb)
    WHERE organization_id = $1::text AND id = $2::text AND NOT allow_all_locations
        AND deleted_at IS NULL
    RETURNING id
)
SELECT id
FROM u
UNION ALL
SELECT id
FROM d
