-- Each bucket of a level is the sum of its rows in the ledger, and what the last of them left.
-- rows: items.level
-- Stock was changed past the ledger. Find out by whom, count the layout, and have the difference
-- booked (POST /v1/items/:item with levels); a row of the ledger is never changed.
SELECT v.organization_id, v.id, CASE
        WHEN m.moves <> v.moves THEN 'counts ' || v.moves || ' moves, and has ' || m.moves
        WHEN m.moves <> m.positions THEN 'has two moves with one position'
        ELSE 'has ' || b.quantity || ' ' || b.bucket || ', and its ledger says ' || b.total
            || CASE WHEN b.left_over <> b.total THEN ', its last move ' || b.left_over ELSE '' END
    END
FROM items.level v
CROSS JOIN LATERAL (
    SELECT count(*) AS moves, count(DISTINCT position) AS positions
    FROM items.stock_movement m
    WHERE m.organization_id = v.organization_id AND m.level_id = v.id
) m
LEFT JOIN LATERAL (
    SELECT x.bucket, x.quantity, coalesce(sum(m.delta), 0) AS total,
        coalesce((array_agg(m.balance_after ORDER BY m.position DESC))[1], 0) AS left_over
    FROM (
        VALUES ('available', v.available), ('reserved', v.reserved), ('damaged', v.damaged),
            ('manifested', v.manifested)
    ) x(bucket, quantity)
    LEFT JOIN items.stock_movement m
        ON m.organization_id = v.organization_id AND m.level_id = v.id AND m.bucket = x.bucket
    GROUP BY x.bucket, x.quantity
    HAVING x.quantity <> coalesce(sum(m.delta), 0)
        OR x.quantity <> coalesce((array_agg(m.balance_after ORDER BY m.position DESC))[1], 0)
    ORDER BY x.bucket
    LIMIT 1
) b ON true
WHERE m.moves <> v.moves OR m.moves <> m.positions OR b.bucket IS NOT NULL
