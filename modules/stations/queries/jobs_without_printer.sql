-- Lists the jobs of a station that wait for a printer which is gone, or for a pool that has no
-- member left. $1 station, $2 organization.
SELECT j.id
FROM stations.print_job j
WHERE j.organization_id = $2::text
    AND j.print_station_id = $1::text
    AND j.status = 'queued'
    AND j.deleted_at IS NULL
    AND NOT EXISTS (
        SELECT 1
        FROM stations.printer p
        WHERE p.organization_id = $2::text
            AND p.station_id = $1::text
            AND p.deleted_at IS NULL
            AND (
                p.id = j.printer_id
                OR (j.pool AND j.printer_id IS NULL AND p.model = j.printer_model)
            )
    )
ORDER BY j.id
FOR UPDATE OF j
