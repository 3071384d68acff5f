-- Notes the runs that requests became, while they wait. $1 organization, $2 rows: i request, r run.
UPDATE integrations.outgoing o
SET run_id = x.r
FROM json_to_recordset($2::json) AS x(i text, r text)
JOIN integrations.waiting w ON w.organization_id = $1::text AND w.id = x.i
WHERE o.organization_id = $1::text AND o.created_at = w.created_at AND o.id = x.i
