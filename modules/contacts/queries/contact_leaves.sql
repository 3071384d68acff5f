-- Takes a contact out of groups. $1 organization, $2 groups, $3 contact, $4 now, $5 actor.
UPDATE contacts.contact_group
SET children = children - $3::text,
    members = jsonb_build_object(
        'children', (members -> 'children') - $3::text, 'primary', (members -> 'primary') - $3::text
    ),
    version = version + 1, updated_at = $4::timestamptz, updated_by = $5::text
WHERE organization_id = $1::text AND id = ANY ((SELECT $2::text[])::text[]) AND children ? $3::text
RETURNING id
