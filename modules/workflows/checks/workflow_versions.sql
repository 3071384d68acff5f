-- The version that each workflow publishes is there, and no later one.
-- rows: workflows.workflow
-- Publish the workflow's draft anew (POST /v1/workflows/:workflow/publish).
SELECT w.organization_id, w.id, CASE
        WHEN v.last IS NULL THEN 'publishes version ' || w.published_version
            || ', and has none'
        ELSE 'publishes version ' || coalesce(w.published_version::text, 'none')
            || ', and its last one is ' || v.last
    END
FROM workflows.workflow w
LEFT JOIN (
    SELECT organization_id, workflow_id, max(number) AS last
    FROM workflows.version
    GROUP BY organization_id, workflow_id
) v ON v.organization_id = w.organization_id AND v.workflow_id = w.id
WHERE w.deleted_at IS NULL AND w.published_version IS DISTINCT FROM v.last
