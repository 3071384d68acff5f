-- Counts the items of a batch by what became of them. $1 batch, $2 organization.
SELECT coalesce(sum(size), 0), coalesce(sum(pending), 0), coalesce(sum(created), 0),
    coalesce(sum(updated), 0), coalesce(sum(overwritten), 0), coalesce(sum(deleted), 0),
    coalesce(sum(unchanged), 0), coalesce(sum(not_parsed), 0), coalesce(sum(not_valid), 0),
    coalesce(sum(not_done), 0), coalesce(sum(ignored), 0), coalesce(sum(skipped), 0),
    coalesce(sum(events), 0), coalesce(sum(size - not_parsed - ignored) FILTER (WHERE stage > 0), 0)
FROM batches.chunk
WHERE organization_id = $2::text AND batch_id = $1::text
