-- wharf: phase=expand
-- Signals that go to station applications by a push service (spec 04 section 9.2): what waits, and what became of it.

CREATE TABLE stations.print_push_delivery (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    station_id text COLLATE "C" NOT NULL,
    job_id text COLLATE "C",
    seq bigint NOT NULL,                 -- of the signal
    type text COLLATE "C" NOT NULL,
    driver text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'delivered', 'failed', 'skipped')),
    attempts integer NOT NULL DEFAULT 0,
    http_status integer,
    error text,
    created_at timestamptz(3) NOT NULL,
    first_at timestamptz(3),             -- of the first attempt
    due_at timestamptz(3),               -- the next attempt, or the end of the lease of the running one; null: over
    server text COLLATE "C",             -- who sends it
    ended_at timestamptz(3),
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX print_push_delivery_job ON stations.print_push_delivery (organization_id, job_id, id);
CREATE INDEX print_push_delivery_station ON stations.print_push_delivery (organization_id, station_id) WHERE status = 'waiting';
CREATE INDEX print_push_delivery_due ON stations.print_push_delivery (due_at) WHERE status = 'waiting';
CREATE INDEX print_push_delivery_ended ON stations.print_push_delivery (ended_at) WHERE ended_at IS NOT NULL;

-- Takes what is due, of all organizations, for its_server. What nobody needs to hear any more is not pushed.
CREATE FUNCTION stations.push_claim(its_server text, room integer) RETURNS TABLE (organization_id text, id text, station_id text, job_id text,
    seq bigint, type text, driver text, attempts integer, at_us bigint, first_us bigint, ttl bigint, device_token text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
    moment timestamptz(3) := wharf.now();
BEGIN
    RETURN QUERY
        WITH due AS MATERIALIZED (
            SELECT d.organization_id, d.id, d.station_id, d.job_id, d.type, d.driver FROM stations.print_push_delivery d
            WHERE d.status = 'waiting' AND d.due_at <= moment ORDER BY d.due_at LIMIT room FOR UPDATE SKIP LOCKED
        ), judged AS MATERIALIZED (
            SELECT d.organization_id, d.id, s.device_token, GREATEST(60, COALESCE(extract(epoch FROM j.expires_at - moment), 86400)::bigint) AS ttl,
                CASE WHEN s.push ->> 'status' = 'invalid' THEN 'the device token is not valid'
                    WHEN s.push ->> 'driver' IS DISTINCT FROM d.driver THEN 'the print station has another driver'
                    WHEN d.type = 'print_job.available' AND j.print_station_id IS DISTINCT FROM d.station_id THEN 'the print job went elsewhere'
                    WHEN d.type = 'print_job.available' AND j.status <> 'queued' THEN 'the print job waits no longer'
                    WHEN d.type = 'print_job.cancel' AND j.status IS DISTINCT FROM 'processing' THEN 'the print job is over' END AS useless
            FROM due d
            LEFT JOIN LATERAL (SELECT * FROM stations.print_station x WHERE x.organization_id = d.organization_id AND x.id = d.station_id) s ON true
            LEFT JOIN LATERAL (SELECT * FROM stations.print_job x WHERE x.organization_id = d.organization_id AND x.id = d.job_id) j ON true
        ), skipped AS (
            UPDATE stations.print_push_delivery d SET status = 'skipped', error = u.useless, due_at = NULL, server = NULL, ended_at = moment
            FROM judged u WHERE u.useless IS NOT NULL AND d.organization_id = u.organization_id AND d.id = u.id
        )
        UPDATE stations.print_push_delivery d SET attempts = d.attempts + 1, first_at = COALESCE(d.first_at, moment), server = its_server,
            due_at = moment + interval '60 seconds'
        FROM judged u WHERE u.useless IS NULL AND d.organization_id = u.organization_id AND d.id = u.id
        RETURNING d.organization_id, d.id, d.station_id, d.job_id, d.seq, d.type, d.driver, d.attempts,
            (extract(epoch FROM d.created_at) * 1000000)::bigint, (extract(epoch FROM d.first_at) * 1000000)::bigint, u.ttl, u.device_token;
END
$$;

-- When the next one is due, in milliseconds from now (at most 1,000).
CREATE FUNCTION stations.push_due() RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT LEAST(1000, GREATEST(0, COALESCE(extract(epoch FROM (SELECT d.due_at FROM stations.print_push_delivery d
        WHERE d.status = 'waiting' ORDER BY d.due_at LIMIT 1) - wharf.now()) * 1000, 1000)))::integer
$$;

-- A server ends: what it did not get done is due at once.
CREATE FUNCTION stations.push_interrupt(its_server text) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    UPDATE stations.print_push_delivery d SET server = NULL, due_at = wharf.now() WHERE d.status = 'waiting' AND d.server = its_server
$$;

-- Rows that nobody will ask for again.
CREATE OR REPLACE FUNCTION stations.forget(at timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE gone bigint;
BEGIN
    WITH old AS (SELECT j.ctid, j.organization_id, j.id FROM stations.print_job j WHERE j.ended_at <= at - interval '90 days' LIMIT most),
        lines AS (DELETE FROM stations.print_job_history h USING old o WHERE h.organization_id = o.organization_id AND h.job_id = o.id)
    DELETE FROM stations.print_job j USING old o WHERE j.ctid = o.ctid;
    GET DIAGNOSTICS gone = ROW_COUNT;
    DELETE FROM stations.print_session s WHERE s.ctid = ANY (ARRAY(SELECT o.ctid FROM stations.print_session o
        WHERE o.ended_at <= at - interval '90 days' LIMIT most));
    DELETE FROM stations.print_push_delivery d WHERE d.ctid = ANY (ARRAY(SELECT o.ctid FROM stations.print_push_delivery o
        WHERE o.ended_at <= at - interval '90 days' LIMIT most));
    RETURN gone;
END
$$;

SELECT wharf.protect_table('stations.print_push_delivery'::regclass);
