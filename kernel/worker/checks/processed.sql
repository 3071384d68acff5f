-- Every event is processed, or waits for it in the outbox.
-- rows: wharf.event
-- Nobody was told of such an event: no webhook, no workflow, no stream. Whoever needs it finds it
-- by GET /v1/events/:event; report it with the log of its time.
SELECT e.organization_id, e.id, 'is neither processed nor in the outbox'
FROM wharf.event e
WHERE NOT EXISTS (
        SELECT FROM wharf.event_done d
        WHERE d.organization_id = e.organization_id
            AND d.created_at = e.created_at
            AND d.event_id = e.id
    )
    AND NOT EXISTS (
        SELECT FROM wharf.outbox o
        WHERE o.organization_id = e.organization_id AND o.event_id = e.id
    )
