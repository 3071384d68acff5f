-- Makes the owner of an organization. $1 organization, $2 id of the log line, $3 user, $4 name, $5
-- e-mail.
WITH r AS (
    INSERT INTO wharf.user (organization_id, id, name, email, role, created_at, updated_at)
    VALUES ($1, $3, $4, $5, 'owner', wharf.now(), wharf.now())
    RETURNING organization_id, id, created_at
), l AS (
    INSERT INTO wharf.change_log (
        organization_id, id, created_at, resource, resource_id, action, actor_type, actor_name
    )
    SELECT organization_id, $2, created_at, 'user', id, 'created', 'system', 'command line'
    FROM r
    RETURNING organization_id, created_at, id
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id)
SELECT *
FROM l
RETURNING 1
