-- Lists the addresses of the administrators that the organization set. $1 organization.
SELECT a.address
FROM wharf.organization o,
    jsonb_array_elements_text(
        CASE jsonb_typeof(o.settings #> '{notifications,administrators}')
            WHEN 'array' THEN o.settings #> '{notifications,administrators}'
            ELSE '[]'
        END
    ) WITH ORDINALITY a(address, n)
WHERE o.organization_id = $1::text AND o.id = $1::text
ORDER BY a.n
