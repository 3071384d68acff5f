-- Keeps a version of a template, and drops those that are too old. $1 organization, $2 template,
-- $3 number, $4 template_data, $5 now, $6 who wrote it, $7 how many are kept.
WITH dropped AS (
    DELETE FROM templates.template_version
    WHERE organization_id = $1::text AND template_id = $2::text
        AND number <= $3::integer - $7::integer
)
INSERT INTO templates.template_version (
    organization_id, template_id, number, template_data, created_at, created_by
)
VALUES ($1::text, $2::text, $3::integer, $4::jsonb, $5::timestamptz, $6::text)
