-- Lists the first lines about items of a batch, each with the line of the file and the record that
-- it is about: what it did, or the id that the item named. (Not as jsonb, which refuses numbers
-- that JSON may have.) $1 batch, $2 organization, $3 how many.
SELECT l.index, (c.lines ->> (l.index - c.first))::integer, l.phase, l.code, l.line,
    coalesce(c.ids ->> (l.index - c.first), (c.items::json -> (l.index - c.first)) ->> 'id')
FROM (
    SELECT *
    FROM batches.line
    WHERE organization_id = $2::text AND batch_id = $1::text
    ORDER BY index
    LIMIT $3::integer
) l
JOIN batches.chunk c
    ON c.organization_id = l.organization_id
        AND c.batch_id = l.batch_id
        AND l.index >= c.first
        AND l.index < c.first + c.size
ORDER BY l.index
