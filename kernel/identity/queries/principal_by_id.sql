-- Finds the principal of a key. $1 organization, $2 id of the key.
:principal_columns
FROM wharf.api_key k
:principal_joins
WHERE k.organization_id = $1 AND k.id = $2
