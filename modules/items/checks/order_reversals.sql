-- A build is taken apart as far as its unbuilds say.
-- rows: items.assembly_order
-- Rows were changed past the server. Restore them from a backup.
SELECT o.organization_id, o.id, 'is taken apart to ' || o.unbuilt_qty || ' (' || o.reversal
    || '), and its unbuilds say ' || u.total
FROM items.assembly_order o
CROSS JOIN LATERAL (
    SELECT coalesce(sum(x.quantity), 0) AS total
    FROM items.assembly_order x
    WHERE x.organization_id = o.organization_id AND x.build_order_id = o.id
) u
WHERE o.unbuilt_qty <> u.total OR o.reversal <> CASE WHEN u.total = 0 THEN 'none'
    WHEN u.total = o.quantity THEN 'full' ELSE 'partial' END
