-- The versions of a bill count from 1 to the one it has, and each has components.
-- rows: items.bom
-- Rows were changed past the server: versions are written once and never changed. Restore them
-- from a backup.
SELECT b.organization_id, b.id, 'has version ' || b.bom_version || ', and ' || v.n
        || ' versions, of which ' || v.empty || ' have no components'
FROM items.bom b
CROSS JOIN LATERAL (
    SELECT count(*) AS n, coalesce(max(x.bom_version), 0) AS last,
        count(*) FILTER (WHERE NOT EXISTS (
            SELECT 1
            FROM items.bom_component c
            WHERE c.organization_id = x.organization_id AND c.bom_id = x.bom_id
                AND c.bom_version = x.bom_version
        )) AS empty
    FROM items.bom_version x
    WHERE x.organization_id = b.organization_id AND x.bom_id = b.id
) v
WHERE v.n <> b.bom_version OR v.last <> b.bom_version OR v.empty > 0
