-- wharf: phase=expand
-- Print jobs are made, claimed and reported (spec 04 sections 6 to 9): what that needs beside the table of 0001.

ALTER TABLE stations.print_job
    ALTER COLUMN print_station_id DROP NOT NULL,
    ADD COLUMN device_job_id text COLLATE "C",
    ADD COLUMN resource_type text COLLATE "C",
    ADD COLUMN resource_id text COLLATE "C",
    ADD COLUMN paper_size text COLLATE "C",
    ADD COLUMN source_file text COLLATE "C",
    ADD COLUMN prepared_file text COLLATE "C",
    ADD COLUMN prepared_sha256 text COLLATE "C",
    ADD COLUMN held_by text COLLATE "C",           -- the session that claimed it
    ADD COLUMN lease_expires_at timestamptz(3),    -- until then it is the session's
    ADD COLUMN reported_at timestamptz(3),         -- last word of the station
    ADD COLUMN ended_at timestamptz(3);            -- since when the status is one that lasts

-- Scaling as older versions stored it (spec 04 section 6): numbers from 25 to 300 are percent, all others go to the nearest bound.
CREATE FUNCTION stations.scaling(v numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN v IS NULL THEN 1 WHEN v BETWEEN 0.25 AND 3 THEN v WHEN v BETWEEN 25 AND 300 THEN v / 100 WHEN v < 0.25 THEN 0.25
        ELSE 3 END
$$;
-- The configuration as it is shown. What is within bounds, as everything that this version writes, is not touched.
CREATE FUNCTION stations.job_configuration(c jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(c -> 'scaling') = 'number' AND (c ->> 'scaling')::numeric BETWEEN 0.25 AND 3 THEN c - 'reverse_order'
        ELSE (c - 'reverse_order') || jsonb_build_object('scaling', stations.scaling(CASE WHEN jsonb_typeof(c -> 'scaling') = 'number'
            THEN (c ->> 'scaling')::numeric END)) END
$$;
UPDATE stations.print_job SET configuration = stations.job_configuration(configuration)
WHERE configuration IS DISTINCT FROM stations.job_configuration(configuration);

DROP INDEX stations.print_job_queue;
CREATE INDEX print_job_queue ON stations.print_job (organization_id, print_station_id, priority DESC, id)
    WHERE status = 'queued' AND deleted_at IS NULL;
CREATE INDEX print_job_held ON stations.print_job (organization_id, printer_id) WHERE status = 'processing';
CREATE INDEX print_job_printer ON stations.print_job (organization_id, printer_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_station ON stations.print_job (organization_id, print_station_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_status ON stations.print_job (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_updated ON stations.print_job (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_name ON stations.print_job (organization_id, lower(name) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_priority ON stations.print_job (organization_id, priority, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_status_order ON stations.print_job (organization_id, status, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_completed ON stations.print_job (organization_id, completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX print_job_document ON stations.print_job (organization_id, document_id) WHERE document_id IS NOT NULL;
CREATE INDEX print_job_reprint ON stations.print_job (organization_id, reprint_of) WHERE reprint_of IS NOT NULL;
CREATE INDEX print_job_resource ON stations.print_job (organization_id, resource_id, created_at, id) WHERE resource_id IS NOT NULL;
CREATE INDEX print_job_metadata ON stations.print_job USING gin (metadata jsonb_path_ops);
CREATE INDEX print_job_search_name ON stations.print_job USING gin (lower(name) public.gin_trgm_ops);
-- for the watch over all organizations
CREATE INDEX print_job_due_expiry ON stations.print_job (expires_at) WHERE status = 'queued';
CREATE INDEX print_job_due_lease ON stations.print_job (lease_expires_at) WHERE status = 'processing';
CREATE INDEX print_job_due_report ON stations.print_job (reported_at) WHERE status = 'processing';
CREATE INDEX print_job_due_bytes ON stations.print_job (ended_at) WHERE source_file IS NOT NULL OR prepared_file IS NOT NULL;
CREATE INDEX print_job_ended ON stations.print_job (ended_at) WHERE ended_at IS NOT NULL;

-- What a job went through, oldest first.
CREATE TABLE stations.print_job_history (
    organization_id text COLLATE "C" NOT NULL,
    job_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    at timestamptz(3) NOT NULL,
    status text COLLATE "C" NOT NULL,
    stage text COLLATE "C",
    actor text COLLATE "C",
    reason text,
    late boolean NOT NULL DEFAULT false,
    PRIMARY KEY (organization_id, job_id, number)
);

-- A station application that is connected. At most one per station is open.
CREATE TABLE stations.print_session (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    station_id text COLLATE "C" NOT NULL,
    actor text COLLATE "C",
    agent jsonb NOT NULL DEFAULT '{}',
    opened_at timestamptz(3) NOT NULL,
    seen_at timestamptz(3) NOT NULL,
    ended_at timestamptz(3),
    ended_by text COLLATE "C" CHECK (ended_by IN ('closed', 'superseded', 'station_deleted')),
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX print_session_open ON stations.print_session (organization_id, station_id) WHERE ended_at IS NULL;
CREATE INDEX print_session_ended ON stations.print_session (ended_at) WHERE ended_at IS NOT NULL;

ALTER TABLE stations.print_station
    ADD COLUMN managed boolean NOT NULL DEFAULT false,   -- a session or heartbeat was there once: the server owns the status
    ADD COLUMN draining boolean NOT NULL DEFAULT false;  -- a client said offline: claims give nothing
ALTER TABLE stations.printer
    ADD COLUMN missed integer NOT NULL DEFAULT 0,        -- reports in a row without it
    ADD COLUMN told_at timestamptz(3);                   -- last event of its status
CREATE INDEX print_station_watch ON stations.print_station (last_seen_at) WHERE managed AND status = 'online' AND deleted_at IS NULL;

-- What the watch has to do, of all organizations: kind and row. Plugin SQL sees one organization at a time.
CREATE FUNCTION stations.due(at timestamptz, processing interval, offline interval, retention interval, most integer)
RETURNS TABLE (organization_id text, id text, kind text)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    (SELECT j.organization_id, j.id, 'expired' FROM stations.print_job j
     WHERE j.status = 'queued' AND j.deleted_at IS NULL AND j.expires_at <= at ORDER BY j.expires_at LIMIT most)
    UNION ALL
    (SELECT j.organization_id, j.id, 'lease' FROM stations.print_job j
     WHERE j.status = 'processing' AND j.held_by IS NOT NULL AND j.stage IN ('claimed', 'downloading', 'converting')
       AND j.lease_expires_at <= at ORDER BY j.lease_expires_at LIMIT most)
    UNION ALL
    (SELECT j.organization_id, j.id, 'silent' FROM stations.print_job j
     WHERE j.status = 'processing' AND (j.held_by IS NULL OR j.stage IS NULL OR j.stage NOT IN ('claimed', 'downloading', 'converting'))
       AND j.reported_at <= at - processing ORDER BY j.reported_at LIMIT most)
    UNION ALL
    (SELECT s.organization_id, s.id, 'offline' FROM stations.print_station s
     WHERE s.managed AND s.status = 'online' AND s.deleted_at IS NULL AND s.last_seen_at <= at - offline ORDER BY s.last_seen_at LIMIT most)
    UNION ALL
    (SELECT j.organization_id, j.id, 'bytes' FROM stations.print_job j
     WHERE (j.source_file IS NOT NULL OR j.prepared_file IS NOT NULL) AND j.ended_at <= at - retention ORDER BY j.ended_at LIMIT most)
$$;

-- Rows that nobody will ask for again.
CREATE FUNCTION stations.forget(at timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE gone bigint;
BEGIN
    WITH old AS (SELECT j.ctid, j.organization_id, j.id FROM stations.print_job j WHERE j.ended_at <= at - interval '90 days' LIMIT most),
        lines AS (DELETE FROM stations.print_job_history h USING old o WHERE h.organization_id = o.organization_id AND h.job_id = o.id)
    DELETE FROM stations.print_job j USING old o WHERE j.ctid = o.ctid;
    GET DIAGNOSTICS gone = ROW_COUNT;
    DELETE FROM stations.print_session s WHERE s.ctid = ANY (ARRAY(SELECT o.ctid FROM stations.print_session o
        WHERE o.ended_at <= at - interval '90 days' LIMIT most));
    RETURN gone;
END
$$;

SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['stations.print_job_history', 'stations.print_session']) AS t;
