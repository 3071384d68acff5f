-- A batch that is over has no item that is still to come, and counts what it has.
-- rows: batches.batch
-- Start a new batch with the items that were left (GET /v1/batches/:batch shows them).
SELECT b.organization_id, b.id, CASE
        WHEN c.pending > 0 THEN 'is ' || b.status || ', and ' || c.pending || ' items wait'
        ELSE 'counts ' || b.total || ' items, and has ' || c.n
    END
FROM batches.batch b
JOIN (
    SELECT organization_id, batch_id, sum(pending) AS pending, sum(size) AS n
    FROM batches.chunk
    GROUP BY organization_id, batch_id
) c ON c.organization_id = b.organization_id AND c.batch_id = b.id
WHERE b.kept AND b.finished_at IS NOT NULL AND (c.pending > 0 OR c.n <> b.total)
