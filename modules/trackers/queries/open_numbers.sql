-- Tells which of many tracking numbers have an open leg of the same provider (open_leg.sql). $1
-- numbers, $2 their providers. Columns: place in the arrays, from 1.
SELECT i.place
FROM unnest((SELECT $1::text[]), (SELECT $2::text[]))
    WITH ORDINALITY AS i(number, provider_id, place)
WHERE EXISTS (
    SELECT 1
    FROM shipments.of_number(i.number) s
    LEFT JOIN trackers.tracker t
        ON t.organization_id = s.organization_id AND t.id = s.tracker_id AND t.deleted_at IS NULL
    WHERE s.provider_id = i.provider_id
        AND NOT coalesce(t.filters, s.filters) ? 'completed'
        AND s.status <> 'rates_generated'
)
