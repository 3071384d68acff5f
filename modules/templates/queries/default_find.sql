-- Finds the template that a type means: the default at the location, else that of all. $1
-- organization, $2 type, $3 location or null.
SELECT id
FROM templates.template
WHERE organization_id = $1::text AND type = $2::text AND status = 'default' AND deleted_at IS NULL
    AND (location_id IS NULL OR location_id = $3::text)
ORDER BY location_id NULLS LAST
LIMIT 1
