-- Takes what is due, of all organizations, for its_server. What nobody needs to hear any more is
-- not pushed.
CREATE OR REPLACE FUNCTION stations.push_claim(its_server text, room integer)
    RETURNS TABLE (organization_id text, id text, station_id text, job_id text,
    seq bigint, type text, driver text, attempts integer, at_us bigint, first_us bigint, ttl bigint,
    device_token text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz(3) := wharf.now();
BEGIN
    RETURN QUERY
        WITH due AS MATERIALIZED (
            SELECT d.organization_id, d.id, d.station_id, d.job_id, d.type, d.driver
                FROM stations.print_push_delivery d
            WHERE d.status = 'waiting' AND d.due_at <= moment ORDER BY d.due_at LIMIT room
                FOR UPDATE SKIP LOCKED
        ), judged AS MATERIALIZED (
            SELECT d.organization_id, d.id, s.device_token,
                GREATEST(60, COALESCE(extract(epoch FROM j.expires_at - moment), 86400)::bigint)
                AS ttl,
                CASE WHEN s.push ->> 'status' = 'invalid' THEN 'the device token is not valid'
                    WHEN s.push ->> 'driver' IS DISTINCT FROM d.driver
                        THEN 'the print station has another driver'
                    WHEN d.type = 'print_job.available'
                        AND j.print_station_id IS DISTINCT FROM d.station_id
                        THEN 'the print job went elsewhere'
                    WHEN d.type = 'print_job.available'
                        AND j.status <> 'queued' THEN 'the print job waits no longer'
                    WHEN d.type = 'print_job.cancel'
                        AND j.status IS DISTINCT FROM 'processing' THEN 'the print job is over' END
                        AS useless
            FROM due d
            LEFT JOIN LATERAL (SELECT * FROM stations.print_station x
                WHERE x.organization_id = d.organization_id AND x.id = d.station_id) s ON true
            LEFT JOIN LATERAL (SELECT * FROM stations.print_job x
                WHERE x.organization_id = d.organization_id AND x.id = d.job_id) j ON true
        ), skipped AS (
            UPDATE stations.print_push_delivery d
                SET status = 'skipped', error = u.useless, due_at = NULL, server = NULL,
                ended_at = moment
            FROM judged u
                WHERE u.useless IS NOT NULL AND d.organization_id = u.organization_id
                AND d.id = u.id
        )
        UPDATE stations.print_push_delivery d
            SET attempts = d.attempts + 1, first_at = COALESCE(d.first_at, moment),
            server = its_server,
            due_at = moment + interval '60 seconds'
        FROM judged u
            WHERE u.useless IS NULL AND d.organization_id = u.organization_id AND d.id = u.id
        RETURNING d.organization_id, d.id, d.station_id, d.job_id, d.seq, d.type, d.driver,
            d.attempts,
            (extract(epoch FROM d.created_at) * 1000000)::bigint,
            (extract(epoch FROM d.first_at) * 1000000)::bigint, u.ttl, u.device_token;
END
$$;
