-- Times are reckoned for schedules of workflows that are enabled, and for each of theirs.
-- rows: workflows.schedule
-- Disable the workflow and enable it again (POST /v1/workflows/:workflow).
WITH wanted AS (
    SELECT w.organization_id, w.id, t.nth - 1 AS place
    FROM workflows.workflow w
    JOIN workflows.version v
        ON v.organization_id = w.organization_id
            AND v.workflow_id = w.id
            AND v.number = w.published_version
    CROSS JOIN LATERAL jsonb_array_elements(v.triggers) WITH ORDINALITY t(said, nth)
    WHERE w.deleted_at IS NULL
        AND w.enabled
        AND t.said ->> 'type' = 'schedule'
        AND coalesce((t.said ->> 'enabled')::boolean, true)
)
SELECT coalesce(w.organization_id, s.organization_id), coalesce(w.id, s.workflow_id), CASE
        WHEN w.id IS NULL THEN 'is started by its trigger ' || s.place
            || ', which is no schedule, or the workflow is not enabled'
        ELSE 'is not started by its schedule, the trigger ' || w.place
    END
FROM wanted w
FULL JOIN workflows.schedule s
    ON s.organization_id = w.organization_id AND s.workflow_id = w.id AND s.place = w.place
WHERE w.id IS NULL OR s.workflow_id IS NULL
