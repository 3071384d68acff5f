-- Queues what waits of a user and is in no queue: rows that were made to be sent again. $1
-- organization, $2 user, $3 when it is due.
INSERT INTO notifications.push (
    organization_id, id, user_id, event_id, event_type, resource_type, resource_id, location_id,
    title, body, due_at
)
SELECT n.organization_id, n.id, n.user_id, n.event_id, n.event_type, n.resource_type,
    n.resource_id, n.location_id, COALESCE(n.title, n.event_type), COALESCE(n.body, ''),
    $3::timestamptz
FROM notifications.notification n
WHERE n.organization_id = $1::text
    AND n.user_id = $2::text
    AND n.channel = 'push'
    AND n.status = 'waiting'
    AND NOT EXISTS (
        SELECT FROM notifications.push p
        WHERE p.organization_id = n.organization_id AND p.id = n.id
    )
ORDER BY n.position
