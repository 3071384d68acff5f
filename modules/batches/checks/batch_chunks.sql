-- Chunks of each batch that keeps its items follow each other without a gap.
-- rows: batches.batch
-- Items of the batch were added or deleted beside the server; compare with a backup, and start a
-- new batch with what is missing.
SELECT c.organization_id, c.batch_id, CASE
        WHEN c.before IS NULL THEN 'begins with item ' || c.first
        ELSE 'has item ' || c.first || ' behind item ' || c.before - 1
    END
FROM (
    SELECT organization_id, batch_id, first,
        lag(first + size) OVER (PARTITION BY organization_id, batch_id ORDER BY number) AS before
    FROM batches.chunk
) c
WHERE c.first <> coalesce(c.before, 0)
UNION ALL
SELECT l.organization_id, l.batch_id, 'tells of item ' || l.index || ', which it does not have'
FROM batches.line l
WHERE NOT EXISTS (
        SELECT FROM batches.chunk c
        WHERE c.organization_id = l.organization_id
            AND c.batch_id = l.batch_id
            AND l.index >= c.first
            AND l.index < c.first + c.size
    )
