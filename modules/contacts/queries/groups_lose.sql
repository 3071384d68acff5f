-- Takes contacts out of groups. $1 organization, $2 and $3 group and contact of each pair, $4 now,
-- $5 actor.
UPDATE contacts.contact_group g
SET children = g.children - u.ids,
    members = jsonb_build_object(
        'children', (g.members -> 'children') - u.ids, 'primary', (g.members -> 'primary') - u.ids
    ),
    version = g.version + cardinality(u.ids), updated_at = $4::timestamptz, updated_by = $5::text
FROM (
    SELECT x.g, array_agg(x.c) AS ids
    FROM unnest((SELECT $2::text[]), (SELECT $3::text[])) x(g, c)
    GROUP BY x.g
) u
WHERE g.organization_id = $1::text AND g.id = u.g
RETURNING g.id
