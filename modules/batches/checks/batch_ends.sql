-- A batch that is completed has no item that is still to come, and counts what it has.
-- rows: batches.batch
-- Start a new batch with the items that were left (GET /v1/batches/:batch shows them).
SELECT b.organization_id, b.id, CASE
        WHEN c.n = b.total THEN 'is completed, and ' || c.pending || ' of its items wait'
        ELSE 'counts ' || b.total || ' items, and has ' || c.n
    END
FROM batches.batch b
JOIN (
    SELECT organization_id, batch_id, sum(pending) AS pending, sum(size) AS n
    FROM batches.chunk
    GROUP BY organization_id, batch_id
) c ON c.organization_id = b.organization_id AND c.batch_id = b.id
WHERE b.kept
    AND b.status = 'completed'
    AND (c.n <> b.total OR (c.pending > 0 AND NOT b.validate_only))
