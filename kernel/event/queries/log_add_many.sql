-- Adds lines to the change log and, for who seals them, to the outbox. $1 to $8 are what all have:
-- organization, now, resource, action, type, id and name of the actor, request; $9 to $15 are lists
-- of what each has: id, resource_id, parent_id, location_id, message, locations and users that may
-- see it, '' for none.
WITH c AS MATERIALIZED (
    SELECT $1::text AS s0, $2::text AS s1, $3::text AS s2, $4::text AS s3, $5::text AS s4,
        $6::text AS s5, $7::text AS s6, $8::text AS s7
), l AS (
    INSERT INTO wharf.change_log (
        organization_id, id, created_at, resource, resource_id, parent_id, location_id, action,
        changes, message, images, visibility, actor_type, actor_id, actor_name, request_id,
        locations, audience
    )
    SELECT c.s0, u.i, c.s1::timestamptz, c.s2, u.r, NULLIF(u.p, ''), NULLIF(u.l, ''), c.s3, '[]',
        u.m, '[]', 'internal', c.s4, c.s5, c.s6, c.s7, NULLIF(u.o, '')::jsonb,
        NULLIF(u.a, '')::jsonb
    FROM c,
        unnest(
            (SELECT $9::text[]), (SELECT $10::text[]), (SELECT $11::text[]),
            (SELECT $12::text[]), (SELECT $13::text[]), (SELECT $14::text[]), (SELECT $15::text[])
        ) u(i, r, p, l, m, o, a)
    RETURNING organization_id, created_at, id
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id)
SELECT *
FROM l
ORDER BY l.id
