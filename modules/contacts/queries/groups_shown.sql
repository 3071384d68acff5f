-- Lists the groups of rows, as far as the caller reaches them. $1 organization, $2 resource, $3 ids
-- of the rows, $4 does the caller reach all locations, $5 those that it reaches.
SELECT c.id, jsonb_agg(jsonb_build_object('id', g.id, 'name', g.name) ORDER BY lower(g.name), g.id)
FROM contacts.contact_group g, jsonb_array_elements_text(g.children) AS c(id)
WHERE g.organization_id = $1::text
    AND g.resource = $2::text
    AND g.deleted_at IS NULL
    AND c.id = ANY ($3::text[])
    AND ($4::boolean OR g.location_id IS NULL OR g.location_id = ANY ($5::text[]))
GROUP BY c.id
