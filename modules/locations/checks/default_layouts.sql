-- Every location that is there has one default layout: a root, and the one that it names.
-- rows: locations.location
-- All that stands nowhere else stands in the default layout. Undo what was changed beside the
-- server: compare with a backup.
SELECT l.organization_id, l.id, CASE
        WHEN d.n IS NULL THEN 'has no default layout'
        WHEN d.n > 1 THEN 'has ' || d.n || ' default layouts'
        ELSE 'names ' || l.default_layout_id || ' as its default layout, which is ' || d.id
    END
FROM locations.location l
LEFT JOIN (
    SELECT organization_id, location_id, count(*) AS n, min(id) AS id
    FROM locations.layout
    WHERE is_default AND path IS NULL AND deleted_at IS NULL
    GROUP BY organization_id, location_id
) d ON d.organization_id = l.organization_id AND d.location_id = l.id
WHERE l.deleted_at IS NULL AND (d.n IS DISTINCT FROM 1 OR d.id <> l.default_layout_id)
