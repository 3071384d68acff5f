-- Returns the first of these words that is a word of another contact's name. $1: organization,
-- $2: words in search form, $3: the contact.
SELECT x.t
FROM unnest((SELECT $2::text[])) WITH ORDINALITY x(t, n)
WHERE EXISTS (
  SELECT FROM contacts.token k
  WHERE k.organization_id = $1::text AND k.token = x.t AND k.contact_id <> $3::text
)
ORDER BY x.n
LIMIT 1
