-- Makes a notification of the same once more, which waits. $1 organization, $2 the one, $3 id of
-- the new one, $4 now.
INSERT INTO notifications.notification (organization_id, id, kind, channel, event_id, event_type,
    resource_type, resource_id, location_id, occasion, user_id, contact_id, language, title, body,
    status, next_attempt_at, resend_of, access_locations, access_audience, created_at, updated_at,
    created_by, updated_by, expires_at)
SELECT organization_id, $3::text, kind, channel, event_id, event_type, resource_type, resource_id,
    location_id, occasion, user_id, contact_id, language, title, body, 'waiting', $4::timestamptz,
    id, access_locations, access_audience, $4::timestamptz, $4::timestamptz, 'sys', 'sys',
    $4::timestamptz + (expires_at - created_at)
FROM notifications.notification
WHERE organization_id = $1::text AND id = $2::text
