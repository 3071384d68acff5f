-- Reads what lies below a removed layout, whether it is removed or not, and the location. $1
-- layout, $2 organization.
WITH RECURSIVE down AS (
    SELECT id, location_id, 0 AS n
    FROM locations.layout
    WHERE organization_id = $2::text AND id = $1::text
    UNION ALL
    SELECT l.id, l.location_id, down.n + 1
    FROM down
    JOIN locations.layout l ON l.organization_id = $2::text AND l.path = down.id
    WHERE down.n < 64
)
SELECT (SELECT array_agg(DISTINCT id)::text FROM down), (SELECT location_id FROM down LIMIT 1)
