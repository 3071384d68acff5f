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
CREATE INDEX print_station_location ON stations.print_station (organization_id, location_id, created_at, id)
    WHERE deleted_at IS NULL;
CREATE INDEX print_station_device ON stations.print_station (organization_id, device_id)
    WHERE deleted_at IS NULL AND device_id IS NOT NULL;
CREATE INDEX print_station_metadata ON stations.print_station USING gin (metadata jsonb_path_ops);
CREATE INDEX print_station_search_name ON stations.print_station USING gin (lower(name) public.gin_trgm_ops);
CREATE INDEX print_station_search_display_name ON stations.print_station USING gin (lower(display_name) public.gin_trgm_ops);

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
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX printer_name ON stations.printer (organization_id, station_id, name) WHERE deleted_at IS NULL;
CREATE INDEX printer_station ON stations.printer (organization_id, station_id, position) WHERE deleted_at IS NULL;
CREATE INDEX printer_page_size ON stations.printer USING gin (page_size jsonb_path_ops) WHERE deleted_at IS NULL;
CREATE INDEX printer_search_name ON stations.printer USING gin (lower(name) public.gin_trgm_ops);
CREATE INDEX printer_search_model ON stations.printer USING gin (lower(model) public.gin_trgm_ops);

-- When a status was reported that differs from the last one. A trigger, because requests, heartbeats and the watch for missed
-- heartbeats all write it.
CREATE FUNCTION stations.printer_status_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.status_changed_at := NEW.created_at;
    ELSIF NEW.status IS DISTINCT FROM OLD.status THEN
        NEW.status_changed_at := NEW.updated_at;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER printer_status_changed BEFORE INSERT OR UPDATE ON stations.printer
    FOR EACH ROW EXECUTE FUNCTION stations.printer_status_changed();

CREATE TABLE stations.print_job (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    print_station_id text COLLATE "C" NOT NULL,
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
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX print_job_queue ON stations.print_job (organization_id, printer_id, priority DESC, id) WHERE status = 'queued';
CREATE INDEX print_job_open ON stations.print_job (organization_id, print_station_id) WHERE status IN ('queued', 'processing');
CREATE INDEX print_job_created ON stations.print_job (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX print_job_location ON stations.print_job (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;

SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['stations.print_station', 'stations.printer', 'stations.print_job']) AS t;
