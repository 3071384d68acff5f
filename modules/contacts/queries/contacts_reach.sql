-- Reads how contacts are told of their shipments, in the order of their ids; null for one that is
-- not there. $1 organization, $2 contacts.
SELECT c.how
FROM unnest((SELECT $2::text[])) WITH ORDINALITY AS i(id, place)
LEFT JOIN LATERAL (
    SELECT jsonb_build_object(
        'name', x.name, 'email', x.email, 'language', x.metadata ->> 'language',
        'opted_out', x.notifications ->> 'opted_out_at' IS NOT NULL,
        'bounced', x.notifications ->> 'bounced_at' IS NOT NULL
    ) AS how
    FROM contacts.contact x
    WHERE x.organization_id = $1::text AND x.id = i.id AND x.deleted_at IS NULL
    OFFSET 0
) c ON true
ORDER BY i.place
