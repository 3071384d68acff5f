-- Loads what the search compares of contacts. $1 organization, $2 ids.
SELECT id, name, alternate_names, emails, phone, alternate_phones, id_number, external_id,
    CASE
        WHEN address IS NOT NULL OR alternate_addresses <> '{}'
            THEN to_jsonb(
                ARRAY(
                    SELECT x ->> 'formatted_address'
                    FROM unnest(
                        ARRAY[
                            address, alternate_addresses -> 'secondary',
                            alternate_addresses -> 'home', alternate_addresses -> 'other',
                            alternate_addresses -> 'work', alternate_addresses -> 'education'
                        ]
                    ) x
                    WHERE x ->> 'formatted_address' IS NOT NULL
                )
            )
    END
FROM contacts.contact
WHERE organization_id = $1::text AND id = ANY ((SELECT $2::text[])::text[])
