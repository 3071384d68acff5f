-- wharf: phase=expand
-- Webhooks, and what is known of them while they are at work (docs/spec/07-events-and-webhooks.md sections 5, 7 and 10).

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
    status_reason text COLLATE "C" CHECK (status_reason IN ('failures', 'failure_rate', 'manual', 'receiver_request')),
    degraded_at timestamptz(3),
    last_test jsonb,
    send_test boolean NOT NULL DEFAULT false, -- never kept: a rule acts on it
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX webhook_created ON webhooks.webhook (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX webhook_updated ON webhooks.webhook (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX webhook_search_name ON webhooks.webhook USING gin (lower(name) public.gin_trgm_ops);
CREATE INDEX webhook_search_url ON webhooks.webhook USING gin (lower(url) public.gin_trgm_ops);
CREATE INDEX webhook_timer ON webhooks.webhook (enable_at) WHERE status = 'suspended' AND deleted_at IS NULL;

-- One row for each webhook, written by the engine with each batch: apart from the webhook's own, so that it stays small and nobody's version
-- changes with each delivery. next_due_at: nothing of this webhook can be sent before; infinity: until somebody says so.
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
    refused_since timestamptz(3), -- every attempt since ended in a blocked address or a name that does not exist
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

CREATE FUNCTION webhooks.paused_until(org text, its_url text) RETURNS timestamptz(3) LANGUAGE sql STABLE AS $$
    SELECT e.paused_until FROM webhooks.endpoint e WHERE e.organization_id = org AND e.url = its_url AND e.paused_until > wharf.now()
$$;

-- Sums over (since, until]; a bucket belongs to the moment at which it begins.
CREATE FUNCTION webhooks.sums(org text, webhook text, since timestamptz, until timestamptz,
    OUT success bigint, OUT failure bigint, OUT rate_limited bigint) LANGUAGE sql STABLE AS $$
    SELECT COALESCE(sum(b.success), 0), COALESCE(sum(b.failure), 0), COALESCE(sum(b.rate_limited), 0) FROM webhooks.bucket b
    WHERE b.organization_id = org AND b.webhook_id = webhook AND b.minute > since AND b.minute <= until
$$;
CREATE FUNCTION webhooks.rate(success bigint, failure bigint) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN success + failure = 0 THEN 0 ELSE round(failure::numeric / (success + failure), 4) END
$$;
CREATE FUNCTION webhooks.stats_of(success bigint, failure bigint, rate_limited bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object('success', success, 'failure', failure, 'rate', trim_scale(webhooks.rate(success, failure)), 'rate_limited', rate_limited)
$$;
CREATE FUNCTION webhooks.stats(org text, webhook text) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('last_24h', webhooks.stats_of(a.success, a.failure, a.rate_limited),
        'previous_24h', webhooks.stats_of(b.success, b.failure, b.rate_limited),
        'last_48h', webhooks.stats_of(a.success + b.success, a.failure + b.failure, a.rate_limited + b.rate_limited))
    FROM webhooks.sums(org, webhook, wharf.now() - interval '24 hours', wharf.now()) a,
        webhooks.sums(org, webhook, wharf.now() - interval '48 hours', wharf.now() - interval '24 hours') b
$$;
