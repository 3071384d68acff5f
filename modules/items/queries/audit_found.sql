-- Finds what an audit counts: each item and layout with stock on hand, in the order in which one
-- walks past the layouts. $1 location, $2 organization, $3 items, $4 layouts with all below them
-- (empty: all), $5 most rows.
WITH RECURSIVE walk AS (
    SELECT y.id, ARRAY[y.position] AS way, ARRAY[lower(y.name)] AS names,
        $4::text[] = '{}' OR y.id = ANY ((SELECT $4::text[])::text[]) AS inside
    FROM locations.layout y
    WHERE y.organization_id = $2::text AND y.location_id = $1::text AND y.path IS NULL
        AND y.deleted_at IS NULL
    UNION ALL
    SELECT y.id, w.way || y.position, w.names || lower(y.name),
        w.inside OR y.id = ANY ((SELECT $4::text[])::text[])
    FROM walk w
    JOIN locations.layout y
        ON y.organization_id = $2::text AND y.location_id = $1::text AND y.path = w.id
            AND y.deleted_at IS NULL
    WHERE array_length(w.way, 1) < 64
), found AS (
    SELECT v.item_id, v.layout_id
    FROM items.level v
    WHERE v.organization_id = $2::text AND v.location_id = $1::text
        AND ($3::text[] = '{}' OR v.item_id = ANY ((SELECT $3::text[])::text[]))
    GROUP BY v.item_id, v.layout_id
    HAVING sum(v.available + v.reserved + v.damaged) > 0
)
SELECT f.item_id, f.layout_id
FROM found f
JOIN walk w ON w.id = f.layout_id AND w.inside
JOIN items.item i ON i.organization_id = $2::text AND i.id = f.item_id
ORDER BY w.way, w.names, w.id, lower(i.name) COLLATE "C", i.id
LIMIT $5::bigint
