-- The first run of those with one order key is due, and those behind it wait.
-- rows: workflows.run
-- A line whose first run is not due stands still. Cancel that run (POST /v1/workflow-runs/:run/
-- cancel): the next one moves up.
SELECT r.organization_id, r.id, CASE
        WHEN r.nth = 1 THEN 'is the first with the key ' || r.order_key || ', and is never due'
        ELSE 'is ' || r.status || ' behind another with the key ' || r.order_key
    END
FROM (
    SELECT organization_id, id, order_key, status, due_at,
        row_number() OVER (
            PARTITION BY organization_id, workflow_id, order_key ORDER BY line
        ) AS nth
    FROM workflows.run
    WHERE order_key IS NOT NULL AND status IN ('queued', 'waiting', 'running')
) r
WHERE CASE WHEN r.nth = 1
        THEN r.status <> 'running' AND r.due_at = 'infinity'
        ELSE r.status = 'running' OR r.due_at <> 'infinity'
    END
