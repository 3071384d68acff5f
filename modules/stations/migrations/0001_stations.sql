-- wharf: phase=expand

-- Print stations, their printers and print jobs (spec 04).
CREATE TABLE stations.print_station (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    display_name text NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    device_token text NOT NULL,
    status text COLLATE "C" NOT NULL DEFAULT 'online' CHECK (status IN ('online', 'offline')),
    allow_all_users boolean NOT NULL DEFAULT true,
    allowed_users jsonb NOT NULL DEFAULT '[]',
    configuration jsonb NOT NULL DEFAULT '{}',
    device_id text COLLATE "C",
    agent jsonb,
    last_seen_at timestamptz(3),
    online_since timestamptz(3),
    push jsonb NOT NULL DEFAULT '{}',
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    -- a session or heartbeat was there once: the server owns the status
    managed boolean NOT NULL DEFAULT false,
    draining boolean NOT NULL DEFAULT false, -- a client said offline: claims give nothing
    PRIMARY KEY (organization_id, id)
);
-- Names are told apart without regard to case, per location; deleting a station frees them.
CREATE UNIQUE INDEX print_station_name ON stations.print_station (organization_id, location_id, lower(name))
    WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX print_station_display_name ON stations.print_station (organization_id, location_id, lower(display_name))
    WHERE deleted_at IS NULL;
CREATE INDEX print_station_created ON stations.print_station (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_station_updated ON stations.print_station (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_station_by_name ON stations.print_station (organization_id, lower(name) COLLATE "C", id)
    WHERE deleted_at IS NULL;
CREATE STATISTICS stations.print_station_names ON lower(name) FROM stations.print_station;
CREATE INDEX print_station_location ON stations.print_station (organization_id, location_id, created_at, id)
    WHERE deleted_at IS NULL;
CREATE INDEX print_station_device ON stations.print_station (organization_id, device_id)
    WHERE deleted_at IS NULL AND device_id IS NOT NULL;
CREATE INDEX print_station_metadata ON stations.print_station USING gin (metadata jsonb_path_ops);
CREATE INDEX print_station_search_name ON stations.print_station USING gin (lower(name) public.gin_trgm_ops);
CREATE INDEX print_station_search_display_name ON stations.print_station USING gin (lower(display_name) public.gin_trgm_ops);
CREATE INDEX print_station_watch ON stations.print_station (last_seen_at) WHERE managed AND status = 'online' AND deleted_at IS NULL;
-- Jobs that were routed to what is offline for a while (spec 04 section 7 'Rerouting').
CREATE INDEX print_station_offline ON stations.print_station (organization_id, id) WHERE status = 'offline' AND deleted_at IS NULL;

-- Removed printers stay for the history of their jobs.
CREATE TABLE stations.printer (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    station_id text COLLATE "C" NOT NULL,
    position integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    model text NOT NULL,
    status text COLLATE "C" NOT NULL DEFAULT 'online' CHECK (status IN ('online', 'offline', 'busy', 'error')),
    configuration jsonb NOT NULL DEFAULT '{}',
    page_size jsonb NOT NULL DEFAULT '{}',
    languages jsonb NOT NULL DEFAULT '[]',
    state_reasons jsonb NOT NULL DEFAULT '[]',
    state_detail jsonb NOT NULL DEFAULT '[]',
    uri text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    status_changed_at timestamptz(3) NOT NULL,
    deleted_at timestamptz(3),
    missed integer NOT NULL DEFAULT 0, -- reports in a row without it
    told_at timestamptz(3), -- last event of its status
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX printer_name ON stations.printer (organization_id, station_id, name) WHERE deleted_at IS NULL;
CREATE INDEX printer_station ON stations.printer (organization_id, station_id, position) WHERE deleted_at IS NULL;
CREATE INDEX printer_page_size ON stations.printer USING gin (page_size jsonb_path_ops) WHERE deleted_at IS NULL;
CREATE INDEX printer_search_name ON stations.printer USING gin (lower(name) public.gin_trgm_ops);
CREATE INDEX printer_search_model ON stations.printer USING gin (lower(model) public.gin_trgm_ops);
CREATE INDEX printer_offline ON stations.printer (organization_id, station_id, id) WHERE status IN ('offline', 'error') AND deleted_at IS NULL;

CREATE TABLE stations.print_job (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    print_station_id text COLLATE "C",
    printer_id text COLLATE "C",
    printer_name text COLLATE "C",
    printer_model text,
    pool boolean NOT NULL DEFAULT false,
    document_id text COLLATE "C",
    resource jsonb,
    raw boolean NOT NULL DEFAULT false,
    configuration jsonb NOT NULL DEFAULT '{}',
    custom_dimensions jsonb,
    document jsonb NOT NULL DEFAULT '{}',
    routing jsonb NOT NULL DEFAULT '{}',
    priority integer NOT NULL DEFAULT 50 CHECK (priority BETWEEN 1 AND 100),
    status text COLLATE "C" NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'processing', 'completed', 'failed', 'canceled',
        'aborted', 'unreported', 'timed_out')),
    reason text,
    reason_code text COLLATE "C",
    stage text COLLATE "C",
    confidence text COLLATE "C",
    progress jsonb NOT NULL DEFAULT '{}',
    printer_state_reasons jsonb NOT NULL DEFAULT '[]',
    attempt integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL DEFAULT 3,
    reprint_of text COLLATE "C",
    reprints integer NOT NULL DEFAULT 0,
    metadata jsonb NOT NULL DEFAULT '{}',
    cancel_requested_at timestamptz(3),
    claimed_at timestamptz(3),
    submitted_at timestamptz(3),
    completed_at timestamptz(3),
    expires_at timestamptz(3) NOT NULL,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    -- Print jobs are made, claimed and reported (spec 04 sections 6 to 9).
    device_job_id text COLLATE "C",
    resource_type text COLLATE "C",
    resource_id text COLLATE "C",
    paper_size text COLLATE "C",
    source_file text COLLATE "C",
    prepared_file text COLLATE "C",
    prepared_sha256 text COLLATE "C",
    held_by text COLLATE "C", -- the session that claimed it
    lease_expires_at timestamptz(3), -- until then it is the session's
    reported_at timestamptz(3), -- last word of the station
    ended_at timestamptz(3), -- since when the status is one that lasts
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX print_job_open ON stations.print_job (organization_id, print_station_id) WHERE status IN ('queued', 'processing');
CREATE INDEX print_job_created ON stations.print_job (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_location ON stations.print_job (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_queue ON stations.print_job (organization_id, print_station_id, priority DESC, id)
    WHERE status = 'queued' AND deleted_at IS NULL;
CREATE INDEX print_job_held ON stations.print_job (organization_id, printer_id) WHERE status = 'processing';
CREATE INDEX print_job_printer ON stations.print_job (organization_id, printer_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_station ON stations.print_job (organization_id, print_station_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_status ON stations.print_job (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_updated ON stations.print_job (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_name ON stations.print_job (organization_id, lower(name) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE STATISTICS stations.print_job_names ON lower(name) FROM stations.print_job;
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
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['stations.print_station', 'stations.printer', 'stations.print_job']) AS t;

-- States of a job, oldest first.
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
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['stations.print_job_history', 'stations.print_session']) AS t;

-- Signals that go to station applications by a push service (spec 04 section 9.2): what waits, and
-- what became of it.
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
    -- the next attempt, or the end of the lease of the running one; null: over
    due_at timestamptz(3),              
    server text COLLATE "C",             -- who sends it
    ended_at timestamptz(3),
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX print_push_delivery_job ON stations.print_push_delivery (organization_id, job_id, id);
CREATE INDEX print_push_delivery_station ON stations.print_push_delivery (organization_id, station_id) WHERE status = 'waiting';
CREATE INDEX print_push_delivery_due ON stations.print_push_delivery (due_at) WHERE status = 'waiting';
CREATE INDEX print_push_delivery_ended ON stations.print_push_delivery (ended_at) WHERE ended_at IS NOT NULL;
SELECT wharf.protect_table('stations.print_push_delivery'::regclass);
