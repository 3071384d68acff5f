-- Reads the place of a parent: root, name with those above it, depth; whether it lies below the
-- layout itself; and how many children it has. $1 parent, $2 location, $3 the layout, $4
-- organization.
WITH RECURSIVE up AS (
    SELECT id, path, 1 AS n
    FROM locations.layout
    WHERE organization_id = $4::text
        AND id = $1::text
        AND location_id = $2::text
        AND deleted_at IS NULL
    UNION ALL
    SELECT l.id, l.path, up.n + 1
    FROM up
    JOIN locations.layout l
        ON l.organization_id = $4::text AND l.id = up.path AND l.deleted_at IS NULL
    WHERE up.n < 64
)
SELECT l.root_id, l.nested_name, l.depth, EXISTS (SELECT 1 FROM up WHERE id = $3::text),
    (
        SELECT count(*)
        FROM locations.layout c
        WHERE c.organization_id = $4::text
            AND c.location_id = $2::text
            AND c.path = $1::text
            AND c.deleted_at IS NULL
    )
FROM locations.layout l
WHERE l.organization_id = $4::text
    AND l.id = $1::text
    AND l.location_id = $2::text
    AND l.deleted_at IS NULL
