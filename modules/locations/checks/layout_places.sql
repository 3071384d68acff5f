-- Each layout lies below one of its own location, and knows its root, depth and whole name.
-- rows: locations.layout
-- Move the layout to where it lies (POST /v1/locations/:location/layouts/:layout with path, first
-- to another parent and back): what follows from its place is then made anew.
SELECT l.organization_id, l.id, CASE
        WHEN l.path IS DISTINCT FROM l.parent_id THEN 'has a path and another parent_id'
        WHEN l.path IS NULL THEN 'is a root, and has the place of none'
        WHEN p.id IS NULL THEN 'lies below ' || l.path || ', which is not there'
        ELSE 'has not the root, depth and name that follow from ' || p.id
    END
FROM locations.layout l
LEFT JOIN locations.layout p
    ON p.organization_id = l.organization_id
        AND p.id = l.path
        AND p.location_id = l.location_id
        AND p.deleted_at IS NULL
WHERE l.deleted_at IS NULL
    AND (
        l.path IS DISTINCT FROM l.parent_id
        OR (
            l.path IS NULL
            AND (l.root_id, l.depth, l.nested_name) IS DISTINCT FROM (l.id, 1::bigint, l.name)
        )
        OR (
            l.path IS NOT NULL
            AND (l.root_id, l.depth, l.nested_name)
                IS DISTINCT FROM (p.root_id, p.depth + 1, p.nested_name || ' / ' || l.name)
        )
    )
