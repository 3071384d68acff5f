-- Adds many jobs. $1: a list of objects with o organization, q queue, l lane, k key, t when to run
-- and a arguments; $2: now.
INSERT INTO wharf.job (
    organization_id, queue, lane, key, state, run_at, args, actor_type, created_at
)
SELECT o, q, l, k, CASE WHEN t > $2::timestamptz THEN 'delayed' ELSE 'ready' END,
    GREATEST(t, $2::timestamptz), a, 'system', $2::timestamptz
FROM ROWS FROM (
    json_to_recordset($1::json) AS (o text, q text, l text, k text, t timestamptz, a json)
) WITH ORDINALITY AS s(o, q, l, k, t, a, n)
ORDER BY n
