-- An approved audit booked what was counted less what was there.
-- rows: items.audit
-- Tasks or the ledger were changed past the server. A row of the ledger is never changed; count the
-- item again.
SELECT a.organization_id, a.id, 'says ' || coalesce(t.difference, 0) || ' of ' || item_id
    || ', and its ledger ' || coalesce(m.booked, 0)
FROM items.audit a
CROSS JOIN LATERAL (
    SELECT k.item_id, sum(k.counted - k.total) AS difference
    FROM items.audit_task k
    WHERE k.organization_id = a.organization_id AND k.audit_id = a.id
    GROUP BY k.item_id
) t
LEFT JOIN LATERAL (
    SELECT sum(s.delta) AS booked
    FROM items.stock_movement s
    WHERE s.organization_id = a.organization_id AND s.group_id = a.group_id
        AND s.item_id = t.item_id
) m ON true
WHERE a.deleted_at IS NULL AND a.status = 'approved' AND a.update_inventory
    AND coalesce(t.difference, 0) <> coalesce(m.booked, 0)
