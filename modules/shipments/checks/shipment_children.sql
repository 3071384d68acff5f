-- Each shipment counts the children that it has, and the parent of each is there.
-- rows: shipments.shipment
-- Send parent_id of the child anew (POST /v1/shipments/:shipment): its parent then counts anew.
SELECT s.organization_id, s.id,
    'counts ' || s.children_count || ' children, and has ' || coalesce(c.n, 0)
FROM shipments.shipment s
LEFT JOIN (
    SELECT organization_id, parent_id, count(*) AS n
    FROM shipments.shipment
    WHERE deleted_at IS NULL AND parent_id IS NOT NULL
    GROUP BY organization_id, parent_id
) c ON c.organization_id = s.organization_id AND c.parent_id = s.id
WHERE s.deleted_at IS NULL
    AND (s.children_count <> coalesce(c.n, 0) OR s.is_parent <> (c.n IS NOT NULL))
UNION ALL
SELECT s.organization_id, s.id, 'its parent ' || s.parent_id || ' is not there'
FROM shipments.shipment s
LEFT JOIN shipments.shipment p
    ON p.organization_id = s.organization_id AND p.id = s.parent_id AND p.deleted_at IS NULL
WHERE s.deleted_at IS NULL AND s.parent_id IS NOT NULL AND p.id IS NULL
