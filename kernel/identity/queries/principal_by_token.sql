-- Finds the principal of a key. $1: the hash of its token.
:principal_columns
FROM wharf.token x
JOIN wharf.api_key k ON k.organization_id = x.organization_id AND k.id = x.id
:principal_joins
WHERE x.hash = $1::bytea AND x.kind = 'api_key'
