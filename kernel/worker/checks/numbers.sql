-- Each processed event of an organization has a number of its own, none beyond the counter.
-- rows: wharf.event_done
-- Streams and webhooks go by these numbers. When wharf.event_counter was set back, set its
-- sequence to the highest number of wharf.event_done.
SELECT d.organization_id, min(d.event_id),
    CASE WHEN count(*) > 1
        THEN 'shares the number ' || d.sequence || ' with ' || max(d.event_id)
        ELSE 'has the number ' || d.sequence || ', and the counter is at '
            || coalesce(max(k.sequence), 0)
    END
FROM wharf.event_done d
LEFT JOIN wharf.event_counter k ON k.organization_id = d.organization_id
GROUP BY d.organization_id, d.sequence
HAVING count(*) > 1 OR d.sequence > coalesce(max(k.sequence), 0)
