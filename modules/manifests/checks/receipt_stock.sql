-- The group of a receipt in the ledger says of each item what the receipt says.
-- rows: manifests.receipt
-- The receipt or the ledger was changed past the server. Count the goods, and correct the stock of
-- the item.
SELECT c.organization_id, c.id, 'says ' || trim_scale(c.received) || ' of the item ' || c.item_id
    || ', and its group in the ledger ' || trim_scale(c.booked)
FROM (
    SELECT r.organization_id, r.id, l.item_id,
        sum(CASE r.type WHEN 'reversal' THEN -l.received_qty ELSE l.received_qty END) AS received, (
            SELECT coalesce(sum(k.delta), 0)
            FROM items.stock_movement k
            WHERE k.organization_id = r.organization_id AND k.group_id = r.group_id
                AND k.item_id = l.item_id AND k.bucket IN ('available', 'damaged')
        ) AS booked
    FROM manifests.receipt r
    CROSS JOIN LATERAL jsonb_to_recordset(r.lines) l(item_id text, received_qty numeric)
    WHERE r.deleted_at IS NULL
    GROUP BY r.organization_id, r.id, r.group_id, l.item_id
) c
WHERE c.received <> c.booked
