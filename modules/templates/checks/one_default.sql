-- One template of each type that an organization has is the default for all locations.
-- rows: templates.template
-- The table was changed past the server. Set one of the templates of the type as default.
SELECT b.organization_id, b.id, 'is the built-in one of ' || b.type || ', of which none is the '
    || 'default for all locations'
FROM templates.template b
WHERE b.builtin AND NOT EXISTS (
    SELECT FROM templates.template d
    WHERE d.organization_id = b.organization_id AND d.type = b.type AND d.location_id IS NULL
        AND d.status = 'default' AND d.deleted_at IS NULL
)
