-- The ledger has what an assembly order says of its stock.
-- rows: items.assembly_order
-- Rows were changed past the server. Restore them from a backup.
SELECT o.organization_id, o.id, 'says ' || s.quantity || ' of ' || s.item_id
    || ', and the ledger has ' || coalesce(m.total, 0)
FROM items.assembly_order o
CROSS JOIN LATERAL (
    SELECT o.item_id, CASE o.type WHEN 'build' THEN o.quantity ELSE -o.quantity END AS quantity
    UNION ALL
    SELECT l.item_id, CASE o.type WHEN 'build' THEN -l.required ELSE l.required END
    FROM items.assembly_order_line l
    WHERE l.organization_id = o.organization_id AND l.order_id = o.id
) s
LEFT JOIN LATERAL (
    SELECT sum(x.delta) AS total
    FROM items.stock_movement x
    WHERE x.organization_id = o.organization_id AND x.group_id = o.group_id
        AND x.item_id = s.item_id
) m ON true
WHERE coalesce(m.total, 0) <> s.quantity
