-- Words that contacts are found by are words of contacts that are there, and stand in the book.
-- rows: contacts.token
-- Write the contact's name anew (POST /v1/contacts/:contact); a word of a contact that is gone may
-- be deleted from contacts.token.
SELECT t.organization_id, t.contact_id, CASE
        WHEN c.id IS NULL THEN 'is found by "' || t.token || '", and is not there'
        ELSE 'is found by "' || t.token || '", which is not in the book of words'
    END
FROM contacts.token t
LEFT JOIN contacts.contact c
    ON c.organization_id = t.organization_id AND c.id = t.contact_id AND c.deleted_at IS NULL
WHERE c.id IS NULL
    OR NOT EXISTS (
        SELECT FROM contacts.word w
        WHERE w.organization_id = t.organization_id AND w.token = t.token
    )
