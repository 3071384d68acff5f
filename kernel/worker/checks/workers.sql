-- Every running job has a worker, and no other job has one.
-- rows: wharf.job
-- Workers give back what a lost worker held within a minute. If it is told again after that, set
-- the state to ready and worker to null in wharf.job.
SELECT organization_id, 'job_' || id,
    CASE WHEN worker IS NULL THEN 'runs, and no worker has it'
        ELSE 'is ' || state || ', and the worker ' || worker || ' has it'
    END
FROM wharf.job
WHERE (state = 'running') <> (worker IS NOT NULL)
