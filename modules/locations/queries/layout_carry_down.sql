-- Carries a new name or place of a layout down to what lies below it. $1 layout, $2 organization.
WITH RECURSIVE down AS (
    SELECT id, root_id, nested_name, depth
    FROM locations.layout
    WHERE organization_id = $2::text AND id = $1::text AND deleted_at IS NULL
    UNION ALL
    SELECT l.id, down.root_id, down.nested_name || ' / ' || l.name, down.depth + 1
    FROM down
    JOIN locations.layout l
        ON l.organization_id = $2::text AND l.path = down.id AND l.deleted_at IS NULL
    WHERE down.depth < 64
)
UPDATE locations.layout l
SET root_id = down.root_id, nested_name = down.nested_name, depth = down.depth
FROM down
WHERE l.organization_id = $2::text AND l.id = down.id AND l.id <> $1::text
