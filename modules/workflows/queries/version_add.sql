-- Publishes a version of a workflow. $1 organization, $2 workflow, $3 number, $4 note, $5 source,
-- $6 files, $7 triggers, $8 scopes, $9 settings, $10 now, $11 actor, $12 key of the publisher, $13
-- options.
INSERT INTO workflows.version (
    organization_id, workflow_id, number, note, sha256, source, files, triggers, scopes, settings,
    published_at, published_by, publisher_key, options
)
VALUES (
    $1::text, $2::text, $3::bigint, $4::text,
    encode(sha256(convert_to($5::text || COALESCE($6::jsonb, '{}')::text, 'UTF8')), 'hex'),
    $5::text, COALESCE($6::jsonb, '{}'), COALESCE($7::jsonb, '[]'), COALESCE($8::jsonb, '[]'),
    COALESCE($9::jsonb, '{}'), $10::timestamptz, $11::text, $12::text, COALESCE($13::jsonb, '{}')
)
