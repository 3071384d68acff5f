-- Members of a group of contacts are contacts that name the group, each once.
-- rows: contacts.contact_group
-- Send the group's members anew (POST /v1/groups/:group with group_contacts).
SELECT g.organization_id, g.id, 'its member ' || m.id || CASE
        WHEN c.id IS NULL THEN ' is no contact that is there'
        ELSE ' does not name it'
    END
FROM contacts.contact_group g
CROSS JOIN LATERAL jsonb_array_elements_text(g.children) m(id)
LEFT JOIN contacts.contact c
    ON c.organization_id = g.organization_id AND c.id = m.id AND c.deleted_at IS NULL
WHERE g.deleted_at IS NULL
    AND g.resource = 'contact'
    AND (c.id IS NULL OR NOT c.groups ? g.id)
UNION ALL
SELECT g.organization_id, g.id, CASE
        WHEN g.children <> g.members -> 'children' THEN 'has other children than members'
        ELSE 'has a primary member that is no child'
    END
FROM contacts.contact_group g
WHERE g.deleted_at IS NULL
    AND (g.children <> g.members -> 'children' OR NOT g.children @> (g.members -> 'primary'))
