-- Loads a version of a workflow. $1 organization, $2 workflow, $3 number of the version, or null:
-- the published one.
SELECT w.name, w.allowed_locations, v.source, v.files, v.triggers, v.scopes, v.settings,
    v.publisher_key, v.options, v.number, w.enabled
FROM workflows.workflow w
JOIN workflows.version v ON v.organization_id = w.organization_id AND v.workflow_id = w.id
WHERE w.organization_id = $1::text
    AND w.id = $2::text
    AND v.number = COALESCE($3::bigint, w.published_version)
    AND ($3::bigint IS NOT NULL OR w.deleted_at IS NULL)
