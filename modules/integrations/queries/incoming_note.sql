-- Records a call of an incoming webhook. $1 organization, $2 id, $3 now, $4 integration, $5 status,
-- $6 request, $7 headers, $8 proof, $9 response, $10 error, $11 when it expires, $12 the run
-- of a workflow that it became.
INSERT INTO integrations.incoming (
    organization_id, id, created_at, updated_at, integration_id, status, request, headers, proof,
    response, error, duration_ms, expires_at, run_id
)
VALUES (
    $1::text, $2::text, $3::timestamptz, $3::timestamptz, $4::text, $5::text, $6::jsonb, $7::jsonb,
    $8::text, $9::jsonb, $10::jsonb, 0, $11::timestamptz, $12::text
)
