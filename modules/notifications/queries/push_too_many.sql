-- Lists the subscriptions for which a user has no room, the oldest: tokens of phones and browsers
-- are $3 together. $1 user, $2 organization.
SELECT s.id
FROM notifications.push_subscription s
WHERE s.organization_id = $2::text AND s.user_id = $1::text AND s.deleted_at IS NULL
ORDER BY s.created_at DESC, s.id DESC
OFFSET (
    SELECT GREATEST(0, $3::bigint - jsonb_array_length(u.fcm_tokens))
    FROM wharf.user u
    WHERE u.organization_id = $2::text AND u.id = $1::text
)
