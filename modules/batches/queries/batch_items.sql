-- Lists a page of the items of a batch. First which items, then what there is to say about them:
-- chunks are opened for those of the page alone. $1 batch, $2 organization, $3 letters of the
-- states that are wanted, or '', $4 phases and $5 codes, with commas between, or null, $6 limit, $7
-- offset. Columns: index, line of the file, letter of its state, phase, id of the record, code,
-- what was said.
SELECT p.index, (c.lines ->> p.at)::integer, p.letter, l.phase, c.ids ->> p.at, l.code, l.line
FROM (
    SELECT c.number, c.first + o.n - 1 AS index, (o.n - 1)::integer AS at, o.letter
    FROM batches.chunk c
    CROSS JOIN LATERAL unnest(string_to_array(c.states, NULL)) WITH ORDINALITY o(letter, n)
    LEFT JOIN batches.line l
        ON ($4::text IS NOT NULL OR $5::text IS NOT NULL)
            AND l.organization_id = c.organization_id
            AND l.batch_id = c.batch_id
            AND l.index = c.first + o.n - 1
    WHERE c.organization_id = $2::text
        AND c.batch_id = $1::text
        AND ($3::text = '' OR position(o.letter IN $3::text) > 0)
        AND (
            $4::text IS NULL
            OR coalesce(
                l.phase, CASE WHEN o.letter IN ('c', 'u', 'o', 'd', 'n') THEN 'processing' END
            ) = ANY (string_to_array($4::text, ','))
        )
        AND ($5::text IS NULL OR l.code = ANY (string_to_array($5::text, ',')))
    ORDER BY c.number, o.n
    LIMIT $6::bigint
    OFFSET $7::bigint
) p
JOIN batches.chunk c
    ON c.organization_id = $2::text AND c.batch_id = $1::text AND c.number = p.number
LEFT JOIN batches.line l
    ON l.organization_id = $2::text AND l.batch_id = $1::text AND l.index = p.index
ORDER BY p.index
