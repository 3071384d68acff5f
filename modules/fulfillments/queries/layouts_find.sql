-- Finds layouts of a location by their ids and by their codes. $1 array of ids, $2 organization,
-- $3 location, $4 array of codes. Columns: id, the code as it was sent; null: found by its id.
SELECT y.id, NULL AS said
FROM locations.layout y
WHERE y.organization_id = $2::text AND y.id = ANY ((SELECT $1::text[])::text[])
    AND y.location_id = $3::text AND y.deleted_at IS NULL
UNION ALL
SELECT y.id, v.code
FROM unnest((SELECT $4::text[])) v(code)
JOIN locations.layout y ON y.organization_id = $2::text AND y.location_id = $3::text
    AND lower(y.code) = lower(v.code) AND y.deleted_at IS NULL
