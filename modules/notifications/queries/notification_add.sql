-- Writes a notification, unless this person was told of this event before. $1 organization, $2 id,
-- then its fields, $18 the locations of the event's row, $19 now, $20 when it is not kept any
-- more. Returns the id.
INSERT INTO notifications.notification (organization_id, id, kind, channel, event_id, event_type,
    resource_type, resource_id, location_id, occasion, user_id, contact_id, address, language,
    status, reason, next_attempt_at, access_locations, created_at, updated_at, created_by,
    updated_by, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17::timestamptz,
    wharf.recorded_locations($18::jsonb, $9), $19::timestamptz, $19::timestamptz, 'sys', 'sys',
    $20::timestamptz)
ON CONFLICT DO NOTHING
RETURNING id
