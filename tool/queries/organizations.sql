-- Lists every organization with how many users and keys of it may be used.
SELECT o.id, o.mode,
       CASE WHEN o.deleted_at IS NOT NULL THEN 'deleted' WHEN o.active THEN 'active'
            ELSE 'suspended' END,
       to_char(o.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
       (SELECT count(*) FROM wharf.user u
        WHERE u.organization_id = o.id AND u.deleted_at IS NULL),
       (SELECT count(*) FROM wharf.api_key k
        WHERE k.organization_id = o.id AND k.deleted_at IS NULL AND k.revoked_at IS NULL
            AND (k.expires_at IS NULL OR k.expires_at > wharf.now())),
       COALESCE(
           (SELECT string_agg(l.key || '=' || l.value, ',' ORDER BY l.key)
            FROM jsonb_each_text(o.limits) AS l),
           '-'
       ),
       o.name
FROM wharf.organization o ORDER BY o.created_at, o.id
