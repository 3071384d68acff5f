-- Returns the first of these words that is a word of a contact's name. $1: organization,
-- $2: words in search form.
SELECT x.t
FROM unnest((SELECT $2::text[])) WITH ORDINALITY x(t, n)
WHERE EXISTS (
  SELECT FROM contacts.token k
  WHERE k.organization_id = $1::text AND k.token = x.t
)
ORDER BY x.n
LIMIT 1
