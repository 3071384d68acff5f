-- Lists the keys of an organization, but not their texts. $1 organization.
SELECT k.id, k.mode,
       CASE WHEN k.revoked_at IS NOT NULL THEN 'revoked'
            WHEN k.expires_at <= wharf.now() THEN 'expired' ELSE 'active' END,
       k.last4,
       COALESCE(to_char(k.last_used_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"'), 'never'),
       COALESCE(
           (SELECT string_agg(l.key || '=' || l.value, ',' ORDER BY l.key)
            FROM jsonb_each_text(k.limits) AS l),
           '-'
       ),
       COALESCE(k.name, '')
FROM wharf.api_key k
WHERE k.organization_id = $1 ORDER BY k.id
