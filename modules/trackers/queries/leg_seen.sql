-- Tells whether the caller may see a leg s. $2 organization, $3 does the caller reach all
-- locations, $4 those that it reaches, $5 does it see any leg.
s.organization_id = $2::text
    AND s.deleted_at IS NULL
    AND $5::boolean
    AND (
        $3::boolean
        OR s.location_id IS NULL
        OR s.location_id IN (SELECT jsonb_array_elements_text($4::jsonb))
    )
