-- The graph of bills has the components of the newest version of each active bill, and no others.
-- rows: items.bom
-- The graph was changed past the server: it no longer keeps loops out. Make the bill inactive and
-- active again, which writes its part of the graph anew.
SELECT coalesce(c.organization_id, e.organization_id), coalesce(c.bom_id, e.bom_id),
    CASE WHEN e.bom_id IS NULL THEN 'has the component ' || c.item_id || ', and the graph has not'
        ELSE 'is in the graph with ' || e.component_id || ', which is no component of it' END
FROM (
    SELECT b.organization_id, b.id AS bom_id, b.item_id AS assembly_id, p.item_id
    FROM items.bom b
    JOIN items.bom_component p ON p.organization_id = b.organization_id AND p.bom_id = b.id
        AND p.bom_version = b.bom_version
    WHERE b.status = 'active' AND b.deleted_at IS NULL
) c
FULL JOIN items.bom_edge e ON e.organization_id = c.organization_id AND e.bom_id = c.bom_id
    AND e.component_id = c.item_id AND e.assembly_id = c.assembly_id
WHERE e.bom_id IS NULL OR c.bom_id IS NULL
