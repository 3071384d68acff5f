-- Reads users who want to hear of events. $1 organization, $2: phones are pushed to.
SELECT u.id, u.notification_events, u.quiet_hours, u.language,
    ($2::boolean AND u.fcm_tokens <> '[]')
        OR EXISTS (
            SELECT FROM notifications.push_subscription s
            WHERE s.organization_id = u.organization_id
                AND s.user_id = u.id
                AND s.deleted_at IS NULL
        ) AS reachable
FROM wharf.user u
WHERE u.organization_id = $1::text
    AND u.notification_events <> '[]'
    AND u.deleted_at IS NULL
    AND u.status = 'active'
ORDER BY u.id
