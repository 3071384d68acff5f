-- Records a run that is over. $1 organization, $2 run, $3 workflow, $4 version, $5 status, $6
-- location, $7 actor, $8 depth, $9 seed, $10 begin, $11 end, $12 milliseconds, $13 usage, $14
-- input, $15 is it cut, $16 output, $17 is it cut, $18 log lines, $19 error, $20 trigger, $21 its
-- type, $22 what was given.
INSERT INTO workflows.run (
    organization_id, id, workflow_id, workflow_version, trigger, trigger_type, status, key, attempt,
    location_id, on_behalf_of, depth, seed, started_at, finished_at, duration_ms, queued_ms, usage,
    input, input_truncated, output, output_truncated, logs, error, created_at, updated_at,
    created_by, updated_by, given
)
VALUES (
    $1::text, $2::text, $3::text, $4::bigint, $20::jsonb, $21::text, $5::text, $2::text, 1,
    $6::text, $7::text, $8::bigint, $9::text, $10::timestamptz, $11::timestamptz, $12::bigint, 0,
    $13::jsonb, $14::jsonb, $15::boolean, $16::jsonb, $17::boolean, $18::jsonb, $19::jsonb,
    $10::timestamptz, $11::timestamptz, $7::text, $7::text, $22::jsonb
)
