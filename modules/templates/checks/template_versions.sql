-- Each template of an organization has its current version among those that are kept, as it is.
-- rows: templates.template
-- The table was changed past the server. Update the template: that makes a version.
SELECT t.organization_id, t.id, 'has the version ' || t.number || ', which is not kept as it is'
FROM templates.template t
WHERE t.deleted_at IS NULL AND NOT EXISTS (
    SELECT FROM templates.template_version v
    WHERE v.organization_id = t.organization_id AND v.template_id = t.id AND v.number = t.number
        AND v.template_data = t.template_data
)
