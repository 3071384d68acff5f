-- wharf: phase=expand

-- Integrations, their secrets, and the logs of what went out and came in
-- (docs/spec/07-events-and-webhooks.md section 12).
CREATE TABLE integrations.integration (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    direction text COLLATE "C" NOT NULL CHECK (direction IN ('incoming', 'outgoing')),
    name text NOT NULL,
    provider text,
    events jsonb,
    location_ids jsonb,
    filter jsonb,
    workflow_id text COLLATE "C",
    url text COLLATE "C",
    method text COLLATE "C",
    headers jsonb NOT NULL DEFAULT '{}', -- names; the values are in sealed_headers
    sealed_headers text COLLATE "C",
    auth jsonb,
    enabled boolean NOT NULL DEFAULT true,
    failing boolean NOT NULL DEFAULT false, -- the last request ended in an error
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    -- The key whose rights an integration has: it chose the events and locations (spec 07 section
    -- 1.1). NULL: made before it was noted; it keeps all.
    owner_key text COLLATE "C",
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX integration_created ON integrations.integration (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX integration_updated ON integrations.integration (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX integration_search_name ON integrations.integration USING gin (lower(name) public.gin_trgm_ops);

CREATE TABLE integrations.secret (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    integration_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL, -- sealed
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX secret_key ON integrations.secret (organization_id, integration_id, key) WHERE deleted_at IS NULL;

-- Outgoing requests. created_at is the time that the id carries.
CREATE TABLE integrations.outgoing (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    integration_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'success', 'error', 'skipped')),
    request jsonb,
    response jsonb,
    error jsonb,
    attempts bigint NOT NULL DEFAULT 0,
    duration_ms bigint,
    next_attempt_at timestamptz(3),
    expires_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, created_at, id)
) PARTITION BY RANGE (created_at);
CREATE INDEX outgoing_event ON integrations.outgoing (organization_id, event_id, integration_id);
CREATE INDEX outgoing_integration ON integrations.outgoing (organization_id, integration_id, created_at);
CREATE INDEX outgoing_expires ON integrations.outgoing USING brin (expires_at) WITH (pages_per_range = 32);

CREATE TABLE integrations.outgoing_default PARTITION OF integrations.outgoing DEFAULT;

-- Incoming requests.
CREATE TABLE integrations.incoming (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    integration_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C",
    resource_id text COLLATE "C",
    status text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'success', 'error', 'skipped')),
    request jsonb NOT NULL,
    headers jsonb NOT NULL,
    proof text COLLATE "C", -- sealed: what a refused request offered, for another try
    response jsonb,
    error jsonb,
    attempts bigint NOT NULL DEFAULT 1,
    duration_ms bigint,
    expires_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, created_at, id)
) PARTITION BY RANGE (created_at);
CREATE INDEX incoming_integration ON integrations.incoming (organization_id, integration_id, created_at);
CREATE INDEX incoming_expires ON integrations.incoming USING brin (expires_at) WITH (pages_per_range = 32);

CREATE TABLE integrations.incoming_default PARTITION OF integrations.incoming DEFAULT;

-- Requests that are still to be made. One that runs has a server, and is due again when its lease
-- is over.
CREATE TABLE integrations.waiting (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL, -- with organization and id the key of its row in outgoing
    integration_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    next_attempt_at timestamptz(3) NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    retries integer NOT NULL DEFAULT 0,
    server text COLLATE "C",
    PRIMARY KEY (organization_id, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX waiting_due ON integrations.waiting ((integration_id || ''), next_attempt_at);
CREATE INDEX waiting_next ON integrations.waiting (next_attempt_at);
CREATE INDEX waiting_runs ON integrations.waiting ((integration_id || ' runs')) WHERE server IS NOT NULL;

-- Ids of accepted requests, so that one that is sent again is not taken twice.
CREATE TABLE integrations.seen (
    organization_id text COLLATE "C" NOT NULL,
    integration_id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    incoming_id text COLLATE "C" NOT NULL,
    at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, integration_id, webhook_id)
);
CREATE INDEX seen_at ON integrations.seen (at);

-- Errors of the last day, and when they were last told of.
CREATE TABLE integrations.failure (
    organization_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('outgoing_integration', 'incoming_webhook')),
    at timestamptz(3) NOT NULL,
    id text COLLATE "C" NOT NULL
);
CREATE INDEX failure_at ON integrations.failure (organization_id, kind, at);

CREATE TABLE integrations.notice (
    organization_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, kind)
);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['integrations.integration', 'integrations.secret', 'integrations.outgoing',
    'integrations.outgoing_default', 'integrations.incoming', 'integrations.incoming_default', 'integrations.waiting', 'integrations.seen',
    'integrations.failure', 'integrations.notice']) AS t;
SELECT wharf.ensure_partitions(wharf.now());
