-- Finds the links of resources that are removed. $1 their ids, $2 organization.
SELECT l.id
FROM documents.link l
WHERE l.organization_id = $2::text AND l.resource_id = ANY ((SELECT $1::text[])::text[])
ORDER BY l.id
