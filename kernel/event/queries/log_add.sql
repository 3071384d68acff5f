-- Adds a line to the change log and, for who seals it, to the outbox. $1 organization, $2 its id,
-- $3 now, $4 resource, $5 resource_id, $6 parent_id, $7 location_id, $8 action, $9 changes, $10
-- message, $11 images, $12 visibility, $13 to $15 type, id and name of the actor, $16 request, $17
-- locations and $18 users that may see it.
WITH l AS (
    INSERT INTO wharf.change_log (
        organization_id, id, created_at, resource, resource_id, parent_id, location_id, action,
        changes, message, images, visibility, actor_type, actor_id, actor_name, request_id,
        locations, audience
    )
    VALUES (
        $1, $2, $3::timestamptz, $4, $5, $6, $7, $8, $9::jsonb, $10, $11::jsonb, $12, $13, $14, $15,
        $16, $17::jsonb, $18::jsonb
    )
    RETURNING organization_id, created_at, id
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id)
SELECT *
FROM l
