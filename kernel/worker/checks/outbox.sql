-- Everything that waits in the outbox is there: its event and its line of the change log.
-- rows: wharf.outbox
-- The processor can't handle such a row. Compare with a backup what was deleted beside the server.
SELECT o.organization_id, coalesce(o.event_id, o.log_id),
    CASE WHEN e.id IS NULL AND o.event_id IS NOT NULL
        THEN 'waits in the outbox, and there is no such event'
        ELSE 'its line ' || o.log_id || ' waits in the outbox, and is not in the change log'
    END
FROM wharf.outbox o
LEFT JOIN wharf.event e
    ON e.organization_id = o.organization_id
        AND e.created_at = o.created_at
        AND e.id = o.event_id
LEFT JOIN wharf.change_log c
    ON c.organization_id = o.organization_id
        AND c.created_at = o.created_at
        AND c.id = o.log_id
WHERE (o.event_id IS NOT NULL AND e.id IS NULL) OR (o.log_id IS NOT NULL AND c.id IS NULL)
