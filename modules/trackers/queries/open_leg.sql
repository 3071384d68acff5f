-- Finds the open leg of a tracking number: it, and its tracker. $1 number, $2 provider.
SELECT s.id, s.tracker_id
FROM shipments.of_number($1::text) s
LEFT JOIN trackers.tracker t
    ON t.organization_id = s.organization_id AND t.id = s.tracker_id AND t.deleted_at IS NULL
WHERE s.provider_id = $2::text
    AND NOT coalesce(t.filters, s.filters) ? 'completed'
    AND s.status <> 'rates_generated'
ORDER BY s.tracker_id IS NULL, s.created_at, s.id
LIMIT 1
