-- Tells whether a batch, or one that it tries again, began as a file. $1 batch, $2 organization.
WITH RECURSIVE up AS (
    SELECT parent_batch_id, via
    FROM batches.batch
    WHERE organization_id = $2::text AND id = $1::text
    UNION ALL
    SELECT p.parent_batch_id, p.via
    FROM up
    JOIN batches.batch p ON p.organization_id = $2::text AND p.id = up.parent_batch_id
)
SELECT coalesce(bool_or(via = 'file'), false)
FROM up
