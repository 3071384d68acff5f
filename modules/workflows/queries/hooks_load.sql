-- Loads all that hooks of writes of an organization need, but for secrets; in the order in which
-- they run. $1 organization.
SELECT w.id, w.name, w.allowed_locations, v.number, v.source, v.files, v.triggers, v.scopes,
    v.settings, v.publisher_key, v.options,
    EXISTS (
        SELECT FROM workflows.secret s
        WHERE s.organization_id = $1::text AND s.workflow_id = w.id AND s.deleted_at IS NULL
    )
FROM workflows.workflow w
CROSS JOIN LATERAL (
    SELECT k.*
    FROM workflows.version k
    WHERE k.organization_id = $1::text AND k.workflow_id = w.id AND k.number = w.published_version
    LIMIT 1
) v
WHERE w.organization_id = $1::text AND w.hook_triggers AND w.enabled AND w.deleted_at IS NULL
ORDER BY COALESCE((v.options ->> 'priority')::bigint, 0), w.id
