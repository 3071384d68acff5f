-- Counts who uses a role: users that have it, and an organization that gives it to new ones. $1
-- organization, $2 role.
SELECT (
    SELECT count(*)
    FROM wharf.user
    WHERE organization_id = $1::text AND role = $2::text AND deleted_at IS NULL
) + (
    SELECT count(*)
    FROM wharf.organization
    WHERE organization_id = $1::text
        AND id = $1::text
        AND settings #>> '{users,default_role}' = $2::text
)
