-- Tells which of many tracking numbers an uncompleted shipment of the same provider has. $1
-- numbers, $2 their providers, $3 organization. Columns: place in the arrays, from 1.
SELECT i.place
FROM unnest((SELECT $1::text[]), (SELECT $2::text[]))
    WITH ORDINALITY AS i(number, provider_id, place)
WHERE EXISTS (
    SELECT 1
    FROM shipments.of_number(i.number) s
    WHERE s.organization_id = $3::text AND s.provider_id = i.provider_id
        AND NOT s.filters ? 'completed'
)
