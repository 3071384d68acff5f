-- Counts the tasks of an audit, those that are counted, and those whose count is not the frozen
-- total. $1 audit, $2 organization.
SELECT count(*), count(k.counted), count(*) FILTER (WHERE k.counted <> k.total)
FROM items.audit_task k
WHERE k.organization_id = $2::text AND k.audit_id = $1::text
