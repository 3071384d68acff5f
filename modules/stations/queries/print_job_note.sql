-- Adds a line to the history of a print job. $1 organization, $2 job, $3 now, $4 status, $5 stage,
-- $6 actor, $7 reason, $8 did it come late.
INSERT INTO stations.print_job_history (
    organization_id, job_id, number, at, status, stage, actor, reason, late
)
SELECT $1::text, $2::text, COALESCE(max(h.number), 0) + 1, $3::timestamptz, $4::text, $5::text,
    $6::text, $7::text, $8::boolean
FROM stations.print_job_history h
WHERE h.organization_id = $1::text AND h.job_id = $2::text
