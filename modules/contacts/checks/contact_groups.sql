-- Groups that a contact names are there, and have it as a member.
-- rows: contacts.contact
-- Send the contact's groups anew (POST /v1/contacts/:contact).
SELECT c.organization_id, c.id, 'names the group ' || n.id || CASE
        WHEN g.id IS NULL THEN ', which is not there'
        ELSE ', whose member it is not'
    END
FROM contacts.contact c
CROSS JOIN LATERAL jsonb_array_elements_text(c.groups) n(id)
LEFT JOIN contacts.contact_group g
    ON g.organization_id = c.organization_id AND g.id = n.id AND g.deleted_at IS NULL
WHERE c.deleted_at IS NULL AND (g.id IS NULL OR NOT g.children ? c.id)
