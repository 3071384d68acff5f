-- Loads the candidates for a label. Parts that the label has nothing to compare with are not read.
-- $1 organization, $2 ids, $3 does the caller reach all locations, $4 those that it reaches, $5 are
-- e-mails wanted, $6 phones, $7 addresses, $8 businesses.
SELECT id, name, email, phone, NULLIF(alternate_names, '{}'), CASE WHEN $5::boolean THEN emails END,
    CASE WHEN $6::boolean THEN NULLIF(alternate_phones, '{}') END,
    CASE
        WHEN $7::boolean AND (address IS NOT NULL OR alternate_addresses <> '{}')
            THEN to_jsonb(
                array_remove(
                    ARRAY[
                        address, alternate_addresses -> 'secondary', alternate_addresses -> 'home',
                        alternate_addresses -> 'other', alternate_addresses -> 'work',
                        alternate_addresses -> 'education'
                    ],
                    NULL
                )
            )
    END,
    CASE WHEN $8::boolean THEN metadata ->> 'business' END,
    CASE WHEN $8::boolean THEN metadata ->> 'company' END,
    CASE
        WHEN $8::boolean AND groups <> '[]'
            THEN (
                SELECT jsonb_agg(g.name)
                FROM jsonb_array_elements_text(c.groups) e(id)
                JOIN contacts.contact_group g ON g.organization_id = $1::text AND g.id = e.id
                WHERE g.deleted_at IS NULL
            )
    END,
    NULLIF(locations, '[]')
FROM contacts.contact c
WHERE organization_id = $1::text
    AND id = ANY ((SELECT $2::text[])::text[])
    AND deleted_at IS NULL
    AND ($3::boolean OR locations = '[]' OR locations ?| $4::text[])
