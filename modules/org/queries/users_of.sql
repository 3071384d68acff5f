-- Tells of users whether they are not disabled, and whether they reach a location. $1 ids, $2
-- location or '', $3 organization.
SELECT u.id, u.status <> 'disabled',
    $2::text = ''
        OR u.allow_all_locations
        OR u.role IN ('owner', 'developer')
        OR EXISTS (
            SELECT 1
            FROM wharf.principal_location l
            WHERE l.organization_id = u.organization_id
                AND l.principal_type = 'user'
                AND l.principal_id = u.id
                AND l.location_id = $2::text
        )
FROM wharf.user u
WHERE u.organization_id = $3::text AND u.id = ANY ((SELECT $1::text[])::text[])
    AND u.deleted_at IS NULL
