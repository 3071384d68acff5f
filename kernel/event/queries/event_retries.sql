-- Takes the steps of events that failed and are due again, with their events. %s: event_columns,
-- which begin the row; then the head, step, attempts, steps that were done, the live organization.
-- $1 now.
SELECT %s, h.head, r.step, r.attempts, h.steps::text,
    (
        SELECT o.live_organization_id
        FROM wharf.organization o
        WHERE o.organization_id = r.organization_id AND o.id = r.organization_id
    )
FROM wharf.event_retry r
JOIN wharf.event e
    ON e.organization_id = r.organization_id
        AND e.created_at = r.event_created_at
        AND e.id = r.event_id
JOIN wharf.event_done h
    ON h.organization_id = e.organization_id AND h.created_at = e.created_at AND h.event_id = e.id
WHERE r.next_at <= $1::timestamptz
ORDER BY r.next_at
LIMIT 50
FOR UPDATE OF r SKIP LOCKED
