-- Lists those groups that new contacts may not join: of another resource, or full. $1 organization,
-- $2 the groups, each as often as one contact joins it, $3 members that a group may have. Columns:
-- group, whether it is refused already without the new ones.
SELECT g.id, g.resource <> 'contact' OR jsonb_array_length(g.children) >= $3::integer
FROM (SELECT x, count(*) AS more FROM unnest((SELECT $2::text[])) x GROUP BY x) u
JOIN contacts.contact_group g ON g.organization_id = $1::text AND g.id = u.x
WHERE g.resource <> 'contact' OR jsonb_array_length(g.children) + u.more > $3::integer
ORDER BY g.id
