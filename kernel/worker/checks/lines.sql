-- The first job of each line waits for no other.
-- rows: wharf.job
-- A line whose first job is blocked stands still. `wharf job cancel` that job: the next one moves
-- up; or set its state to ready in wharf.job.
SELECT f.organization_id, 'job_' || f.id, 'is the first of the line ' || f.lane || ' ' || f.key
    || ', and is blocked'
FROM (
    SELECT DISTINCT ON (organization_id, lane, key) organization_id, id, lane, key, state
    FROM wharf.job
    WHERE key <> ''
    ORDER BY organization_id, lane, key, (state <> 'running'), id
) f
WHERE f.state = 'blocked'
