-- Reads who contacts are, in the order of their ids; null for one that is not there or that the
-- caller does not see. $1 organization, $2 contacts, $3 does the caller reach all locations, $4
-- those that it reaches.
SELECT c.who
FROM unnest((SELECT $2::text[])) WITH ORDINALITY AS i(id, place)
LEFT JOIN LATERAL (
    SELECT jsonb_build_object(
        'name', x.name, 'email', x.email, 'phone', x.phone, 'business',
        coalesce(x.metadata ->> 'business', x.metadata ->> 'company'), 'address', x.address,
        'locations', x.locations, 'manual_match', x.metadata -> 'manual_match' IN ('true', '"true"')
    ) AS who
    FROM contacts.contact x
    WHERE x.organization_id = $1::text AND x.id = i.id AND x.deleted_at IS NULL
        AND ($3::boolean OR x.locations = '[]' OR x.locations ?| $4::text[])
    OFFSET 0
) c ON true
ORDER BY i.place
