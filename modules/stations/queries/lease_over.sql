-- Locks a job whose station did not go on with it in time. $1 job, $2 organization, $3 now.
SELECT 1
FROM stations.print_job
WHERE organization_id = $2::text
    AND id = $1::text
    AND status = 'processing'
    AND held_by IS NOT NULL
    AND stage IN ('claimed', 'downloading', 'converting')
    AND lease_expires_at <= $3::timestamptz
FOR UPDATE SKIP LOCKED
