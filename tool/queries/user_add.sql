-- Makes a user of a live organization. $1 organization, $2 id of the log line, $3 user, $4 name, $5
-- e-mail, $6 role.
WITH r AS (
    INSERT INTO wharf.user (organization_id, id, name, email, role, created_at, updated_at)
    SELECT id, $3, $4, $5, $6, wharf.now(), wharf.now()
    FROM wharf.organization
    WHERE organization_id = $1 AND id = $1 AND mode = 'live' AND deleted_at IS NULL
    RETURNING organization_id, id
), l AS (
    INSERT INTO wharf.change_log (
        organization_id, id, created_at, resource, resource_id, action, changes, actor_type,
        actor_name
    )
    SELECT organization_id, $2, wharf.now(), 'user', id, 'created', '[]'::jsonb, 'system',
        'command line'
    FROM r
    RETURNING organization_id, created_at, id
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id)
SELECT *
FROM l
RETURNING 1
