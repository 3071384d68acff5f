-- Notes that customers are told of shipments, and returns the events that are the first to tell of
-- theirs. $1 organization, $2 shipments in the order of their events: s id, o occasion, e event, $3
-- now.
INSERT INTO notifications.told (organization_id, shipment_id, occasion, event_id, told_at)
SELECT $1::text, x.s, x.o, x.e, $3::timestamptz
FROM ROWS FROM (jsonb_to_recordset($2::jsonb) AS (s text, o text, e text)) WITH ORDINALITY
    AS x(s, o, e, place)
ORDER BY x.place
ON CONFLICT DO NOTHING
RETURNING event_id
