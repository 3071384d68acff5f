-- Adds contacts to groups, in their order. $1 organization, $2 and $3 group and contact of each
-- pair, $4 now, $5 actor.
UPDATE contacts.contact_group g
SET children = g.children || u.list,
    members = jsonb_set(g.members, '{children}', (g.members -> 'children') || u.list),
    version = g.version + jsonb_array_length(u.list), updated_at = $4::timestamptz,
    updated_by = $5::text
FROM (
    SELECT x.g, jsonb_agg(x.c ORDER BY x.n) AS list
    FROM unnest((SELECT $2::text[]), (SELECT $3::text[])) WITH ORDINALITY x(g, c, n)
    GROUP BY x.g
) u
WHERE g.organization_id = $1::text AND g.id = u.g
RETURNING g.id
