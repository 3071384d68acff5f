-- Adds a contact to groups. $1 organization, $2 groups, $3 contact, $4 now, $5 actor.
UPDATE contacts.contact_group
SET children = children || to_jsonb($3::text),
    members = jsonb_set(members, '{children}', (members -> 'children') || to_jsonb($3::text)),
    version = version + 1, updated_at = $4::timestamptz, updated_by = $5::text
WHERE organization_id = $1::text AND id = ANY ((SELECT $2::text[])::text[])
    AND NOT children ? $3::text
RETURNING id
