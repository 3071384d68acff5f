-- wharf: phase=expand

-- Webhooks, and what is known of them while they are at work (docs/spec/07-events-and-webhooks.md
-- sections 5, 7 and 10).
CREATE TABLE webhooks.webhook (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    description text,
    url text COLLATE "C" NOT NULL,
    events jsonb NOT NULL,
    location_ids jsonb,
    filter jsonb,
    headers jsonb NOT NULL DEFAULT '{}', -- names; the values are in sealed_headers
    sealed_headers text COLLATE "C",
    secrets text COLLATE "C", -- sealed: [{secret, expires_at}], the newest first
    payload text COLLATE "C" NOT NULL DEFAULT 'full' CHECK (payload IN ('full', 'thin')),
    retry_mode text COLLATE "C" NOT NULL DEFAULT 'balanced' CHECK (retry_mode IN ('fast', 'slow', 'balanced')),
    supersede boolean NOT NULL DEFAULT false,
    max_concurrency bigint NOT NULL DEFAULT 100,
    max_rate bigint,
    timeout_ms bigint NOT NULL DEFAULT 15000,
    status text COLLATE "C" NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'suspended', 'disabled')),
    disabled_at timestamptz(3),
    enable_at timestamptz(3),
    status_reason text COLLATE "C" CHECK (
        status_reason IN ('failures', 'failure_rate', 'manual', 'receiver_request', 'settings')),
    degraded_at timestamptz(3),
    last_test jsonb,
    send_test boolean NOT NULL DEFAULT false, -- never kept: a rule acts on it
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    -- The key whose rights a webhook has: it chose the events and locations (spec 07 section 1.1).
    -- NULL: made before it was noted; it keeps all.
    owner_key text COLLATE "C",
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX webhook_created ON webhooks.webhook (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX webhook_updated ON webhooks.webhook (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX webhook_search_name ON webhooks.webhook USING gin (lower(name) public.gin_trgm_ops);
CREATE INDEX webhook_search_url ON webhooks.webhook USING gin (lower(url) public.gin_trgm_ops);
CREATE INDEX webhook_timer ON webhooks.webhook (enable_at) WHERE status = 'suspended' AND deleted_at IS NULL;

-- One row for each webhook, written by the engine with each batch: apart from the webhook's own, so
-- that it stays small and nobody's version changes with each delivery. next_due_at: nothing of this
-- webhook can be sent before; infinity: until somebody says so.
CREATE TABLE webhooks.runtime (
    organization_id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    in_flight integer NOT NULL DEFAULT 0,
    batch_in_flight integer NOT NULL DEFAULT 0,
    slow_limit integer, -- concurrency of a slow start; null: max_concurrency
    tokens double precision NOT NULL DEFAULT 0,
    tokens_at timestamptz(3) NOT NULL DEFAULT '-infinity',
    next_due_at timestamptz(3) NOT NULL DEFAULT 'infinity',
    served_at timestamptz(3) NOT NULL DEFAULT '-infinity',
    held_since timestamptz(3), -- suspended, disabled or paused since
    hour_since timestamptz(3) NOT NULL DEFAULT '-infinity', -- end of the last suspension
    degraded_raised_at timestamptz(3),
    -- every attempt since ended in a blocked address or a name that does not exist
    refused_since timestamptz(3),
    refused integer NOT NULL DEFAULT 0,
    last_success_at timestamptz(3),
    last_failure_at timestamptz(3),
    PRIMARY KEY (organization_id, webhook_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX runtime_due ON webhooks.runtime (next_due_at);

-- All webhooks of an organization with byte-identical url.
CREATE TABLE webhooks.endpoint (
    organization_id text COLLATE "C" NOT NULL,
    url text COLLATE "C" NOT NULL,
    paused_until timestamptz(3),
    streak integer NOT NULL DEFAULT 0, -- 429s in a row, for those that name no time
    PRIMARY KEY (organization_id, url)
);

-- When a webhook was held; so no delivery needs to be written when it is.
CREATE TABLE webhooks.hold (
    organization_id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    from_at timestamptz(3) NOT NULL,
    until_at timestamptz(3) NOT NULL
);
CREATE INDEX hold_webhook ON webhooks.hold (organization_id, webhook_id, until_at);

-- Outcomes by minute.
CREATE TABLE webhooks.bucket (
    organization_id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    minute timestamptz(3) NOT NULL,
    success bigint NOT NULL DEFAULT 0,
    failure bigint NOT NULL DEFAULT 0,
    rate_limited bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, webhook_id, minute)
) WITH (fillfactor = 70);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['webhooks.webhook', 'webhooks.runtime', 'webhooks.endpoint', 'webhooks.hold',
    'webhooks.bucket']) AS t;

-- Deliveries, their queues and their attempts (docs/spec/07-events-and-webhooks.md sections 2, 7
-- and 8).
--
-- A delivery is written when it is made, when an attempt of it is over, and when it is final. That
-- it is in flight stands in its queue, that it is held follows from its webhook: so nobody rewrites
-- a million rows because an endpoint is away.
CREATE TABLE webhooks.delivery (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    -- of automatic ones that of the event: so the same one is never made twice
    created_at timestamptz(3) NOT NULL,
    queued_at timestamptz(3) NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    event_at timestamptz(3) NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    event_type text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL, -- direct, batch; manual: each its own queue
    resource_type text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL,
    trigger text COLLATE "C" NOT NULL,
    run_id text COLLATE "C" NOT NULL DEFAULT '', -- of a resend or a recovery
    status text COLLATE "C" NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'retrying', 'succeeded', 'failed', 'superseded', 'dropped')),
    reason text COLLATE "C",
    attempts integer NOT NULL DEFAULT 0,
    retries integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz(3),
    superseded integer NOT NULL DEFAULT 0,
    superseded_by text COLLATE "C",
    finished_at timestamptz(3),
    expires_at timestamptz(3) NOT NULL
) PARTITION BY RANGE (created_at);
-- Plans are made while tables are empty and then live long. So no two indexes of a table begin with
-- the same columns: those that lists need are over expressions, which the views show.
CREATE INDEX delivery_event ON webhooks.delivery ((event_id || ''));
CREATE INDEX delivery_open ON webhooks.delivery ((webhook_id || ' ' || lane || ' ' || resource_type || ' ' || resource_id), sequence)
    WHERE status IN ('pending', 'retrying');
CREATE INDEX delivery_expires ON webhooks.delivery USING brin (expires_at) WITH (pages_per_range = 32);
-- the youngest index, as of wharf.change_log
ALTER TABLE webhooks.delivery ADD PRIMARY KEY (organization_id, webhook_id, created_at, event_id, run_id);

CREATE TABLE webhooks.delivery_default PARTITION OF webhooks.delivery DEFAULT;

-- The head of each queue that has one: the only delivery of it that may be sent.
CREATE TABLE webhooks.queue (
    organization_id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL,
    resource_type text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    head_id text COLLATE "C" NOT NULL,
    head_at timestamptz(3) NOT NULL, -- with the next two the rest of the delivery's key
    head_event text COLLATE "C" NOT NULL,
    head_run text COLLATE "C" NOT NULL,
    head_sequence bigint NOT NULL,
    in_flight boolean NOT NULL DEFAULT false,
    next_attempt_at timestamptz(3) NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    retries integer NOT NULL DEFAULT 0,
    attempt_id text COLLATE "C", -- in flight: who does it, and until when it is believed
    started_at timestamptz(3),
    server text COLLATE "C",
    lease_until bigint, -- microseconds since 1970
    touched bigint NOT NULL DEFAULT 0, -- makes whoever adds to the queue hold the row
    PRIMARY KEY (organization_id, webhook_id, lane, resource_type, resource_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 5000);
CREATE INDEX queue_ready ON webhooks.queue ((webhook_id || ' ' || lane), next_attempt_at) WHERE NOT in_flight;
CREATE INDEX queue_lease ON webhooks.queue ((lease_until + 0)) WHERE in_flight;

CREATE TABLE webhooks.attempt (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL, -- when it was begun
    event_id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    delivery_id text COLLATE "C" NOT NULL,
    delivery_at timestamptz(3) NOT NULL, -- with the next one the rest of the delivery's key
    run_id text COLLATE "C" NOT NULL,
    attempt integer NOT NULL,
    trigger text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL DEFAULT 'in_progress' CHECK (status IN ('in_progress', 'success', 'failure', 'rate_limited')),
    counts_as_retry boolean NOT NULL DEFAULT false,
    request json,
    response_status integer,
    response_headers json,
    response_body text,
    body_encoding text COLLATE "C",
    body_truncated boolean,
    error_code text COLLATE "C",
    error_message text,
    retry_after_ms bigint,
    next_attempt_at timestamptz(3),
    finished_at timestamptz(3),
    duration_ms bigint,
    expires_at timestamptz(3) NOT NULL
) PARTITION BY RANGE (created_at);
CREATE INDEX attempt_expires ON webhooks.attempt USING brin (expires_at) WITH (pages_per_range = 32);
-- the youngest index, as of wharf.change_log
ALTER TABLE webhooks.attempt ADD PRIMARY KEY (organization_id, event_id, created_at, id);

CREATE TABLE webhooks.attempt_default PARTITION OF webhooks.attempt DEFAULT;

-- Something of this webhook became ready. Rows, not an update of runtime: they are seen when the
-- deliveries are, and nobody waits for anybody.
CREATE TABLE webhooks.poke (
    organization_id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- A recovery that is running.
CREATE TABLE webhooks.recovery (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    finished_at timestamptz(3),
    matched bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX recovery_one ON webhooks.recovery (organization_id, webhook_id) WHERE finished_at IS NULL;
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['webhooks.delivery', 'webhooks.delivery_default', 'webhooks.queue',
    'webhooks.attempt', 'webhooks.attempt_default', 'webhooks.poke', 'webhooks.recovery']) AS t;
SELECT wharf.ensure_partitions(wharf.now());


-- The attempts that are over: outcomes, next heads, figures. given: [{a: attempt, o, w, l, rt, r:
-- its queue, st: its status, f: the delivery's final state or null, fr: why, n: wait in ms, c:
-- counts as a retry, h: counts for health, p: the pause a 429 asks for (ms, 0: none said), u: url,
-- rf: refused, rq: request, rs, rh, rb, re, rt2: the answer, ec, em: error, ms: duration}]. Returns
-- the attempts that could not be settled because somebody holds their queue at the moment (busy:
-- try again); those that are no longer ours are neither settled nor returned.
CREATE TYPE webhooks.outcome AS (a text, o text, w text, l text, rt text, r text, st text, f text, fr text, n bigint, c boolean, h boolean,
    p bigint, u text, rf boolean, rq text, rs integer, rh text, rb text, re text, rtr boolean, ec text, em text, ms bigint);
