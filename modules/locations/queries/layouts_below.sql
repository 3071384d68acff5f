-- Finds a layout and what lies below it: down, with the levels n that it lies deeper. Begins a
-- statement. $1 layout, $2 organization.
WITH RECURSIVE down AS (
    SELECT id, 0 AS n
    FROM locations.layout
    WHERE organization_id = $2::text AND id = $1::text
    UNION ALL
    SELECT l.id, down.n + 1
    FROM down
    JOIN locations.layout l
        ON l.organization_id = $2::text AND l.path = down.id AND l.deleted_at IS NULL
    WHERE down.n < 64
)
