-- Finds the principal of a user as if they had a key that takes nothing from them. $1 organization,
-- $2 id of the user.
:principal_columns
FROM (
    SELECT y.organization_id, '' AS id, '' AS name, '' AS last4, 'live' AS mode,
        '{"*": 2}'::jsonb AS scopes, true AS allow_all_locations, NULL::timestamptz AS expires_at,
        NULL::timestamptz AS revoked_at, NULL::timestamptz AS deleted_at, y.id AS user_id,
        NULL::text AS device_id, NULL::jsonb AS ip_allowlist, '{}'::jsonb AS limits
    FROM wharf.user y
    WHERE y.organization_id = $1 AND y.id = $2
) AS k
:principal_joins
