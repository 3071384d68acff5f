-- Lets a delivery wait again. $1 organization, $2 delivery, $3 now.
WITH again AS (
    UPDATE integrations.outgoing
    SET status = 'pending', next_attempt_at = $3::timestamptz, updated_at = $3::timestamptz
    WHERE organization_id = $1::text AND id = $2::text
    RETURNING *
)
INSERT INTO integrations.waiting (
    organization_id, id, created_at, integration_id, event_id, next_attempt_at, attempts
)
SELECT organization_id, id, created_at, integration_id, event_id, next_attempt_at, attempts
FROM again
