-- Lists the workflows that listen to events, whether they have secrets, and since when they listen
-- (NULL once a second version was published). $1 organization.
SELECT w.id, v.triggers, w.allowed_locations, v.options,
    EXISTS (
        SELECT FROM workflows.secret s
        WHERE s.organization_id = $1::text AND s.workflow_id = w.id AND s.deleted_at IS NULL
    ),
    v.publisher_key,
    CASE w.published_version WHEN 1 THEN v.published_at END
FROM workflows.workflow w
CROSS JOIN LATERAL (
    SELECT k.triggers, k.options, k.publisher_key, k.published_at
    FROM workflows.version k
    WHERE k.organization_id = $1::text AND k.workflow_id = w.id AND k.number = w.published_version
    LIMIT 1
) v
WHERE w.organization_id = $1::text AND w.event_triggers AND w.enabled AND w.deleted_at IS NULL
ORDER BY w.id
