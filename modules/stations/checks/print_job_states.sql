-- The last state in the history of each print job is the state that it has.
-- rows: stations.print_job
-- Look at the job's station: a job that is queued is printed, one that is over is not.
SELECT j.organization_id, j.id,
    'is ' || j.status || ', and its history ends with ' || coalesce(h.status, 'nothing')
FROM stations.print_job j
LEFT JOIN LATERAL (
    SELECT x.status
    FROM stations.print_job_history x
    WHERE x.organization_id = j.organization_id AND x.job_id = j.id
    ORDER BY x.number DESC
    LIMIT 1
) h ON true
WHERE j.deleted_at IS NULL AND h.status IS DISTINCT FROM j.status
