-- Every shipment beyond rates_generated has a history, whose lines have numbers of their own.
-- rows: shipments.shipment
-- Lines were added or deleted beside the server; compare with a backup.
SELECT s.organization_id, s.id, CASE
        WHEN u.n IS NULL THEN 'is ' || s.status || ', and has no line of history'
        WHEN u.n > u.positions THEN 'has two lines of history with one number'
        ELSE 'counts to ' || s.history_count || ', and has the line ' || u.last
    END
FROM shipments.shipment s
LEFT JOIN (
    SELECT organization_id, shipment_id, count(*) AS n, max(position) AS last,
        count(DISTINCT position) AS positions
    FROM shipments.tracking_update
    GROUP BY organization_id, shipment_id
) u ON u.organization_id = s.organization_id AND u.shipment_id = s.id
WHERE s.deleted_at IS NULL
    AND (
        (u.n IS NULL AND s.status <> 'rates_generated')
        OR u.n > u.positions
        OR u.last > s.history_count
    )
