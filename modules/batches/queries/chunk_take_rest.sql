-- Takes whatever chunk of a batch is left, whoever has it: the suspects last. $1 batch, $2
-- organization, $3 lease, $4 stage, $5 tries that make a suspect, $6 number of the chunk before.
-- Columns: number, tries.
UPDATE batches.chunk
SET lease = $3::bigint, tries = tries + 1
WHERE organization_id = $2::text
    AND batch_id = $1::text
    AND number = (
        SELECT number
        FROM batches.chunk
        WHERE organization_id = $2::text
            AND batch_id = $1::text
            AND number > $6::integer
            AND stage < $4::smallint
        ORDER BY tries >= $5::smallint, number
        LIMIT 1
        FOR UPDATE
    )
RETURNING number, tries
