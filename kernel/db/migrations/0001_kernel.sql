-- wharf: phase=expand
-- The kernel's own tables. Tenant tables: organization_id first in the primary key and in every
-- unique constraint, row-level security on. Growing tables are partitioned by created_at
-- (docs/decisions 5 to 8). Functions and views are in kernel/db/sql/.
CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
CREATE EXTENSION IF NOT EXISTS unaccent WITH SCHEMA public;

-- The role of plugin and hook SQL: sees one organization at a time, and only plugins' schemas.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'wharf_plugin') THEN
        CREATE ROLE wharf_plugin NOLOGIN;
    END IF;
    IF NOT pg_has_role(current_user, 'wharf_plugin', 'MEMBER') THEN
        GRANT wharf_plugin TO CURRENT_USER;
    END IF;
EXCEPTION
    WHEN duplicate_object THEN
        NULL; -- another database of this server was migrated at the same moment
    WHEN insufficient_privilege THEN
        RAISE EXCEPTION 'this database user may not make roles'
            USING HINT = format('As an administrator run: CREATE ROLE wharf_plugin NOLOGIN; GRANT wharf_plugin TO %I;', current_user);
END
$$;

-- Values of the whole installation: its id, the clock offset, signing secrets.
CREATE TABLE wharf.setting (
    key text COLLATE "C" PRIMARY KEY,
    value text NOT NULL,
    updated_at timestamptz(3) NOT NULL DEFAULT now()
);

-- Tokens: they are found before the organization is known. The one exception to the rule of unique
-- constraints.
CREATE TABLE wharf.token (
    hash bytea PRIMARY KEY,
    organization_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    -- of links for people without a key; those of keys and files have no end of their own
    expires_at timestamptz(3)
);
CREATE INDEX token_id ON wharf.token (organization_id, kind, id) WHERE expires_at IS NOT NULL;
CREATE INDEX token_expires ON wharf.token (expires_at) WHERE expires_at IS NOT NULL;

-- Streams that are opened by a token look for the key that made it.
CREATE INDEX token_key ON wharf.token (id) WHERE kind = 'api_key';

-- Answers of requests with an Idempotency-Key, written in the transaction of the change (spec 01
-- section 8).
CREATE TABLE wharf.idempotency (
    organization_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    status smallint NOT NULL,
    -- null: too large or holding a secret; resource and resource_id say what to render again
    body text,
    resource text COLLATE "C",
    resource_id text COLLATE "C",
    created_at timestamptz(3) NOT NULL,
    location text COLLATE "C", -- where the new row is
    datetime_format smallint NOT NULL DEFAULT 0, -- how its dates are written
    reach jsonb, -- the answer is given again to who reaches this (NULL: every location)
    areas jsonb, -- and reads these
    -- The user who got an answer that is not one row and may show rows for some users only, as a
    -- JSON array; []: a key without a user; NULL: it shows no such rows.
    audience jsonb,
    PRIMARY KEY (organization_id, key)
);
CREATE INDEX idempotency_created_at ON wharf.idempotency (created_at);

-- The change log (spec 01 section 13): one row per change, written with it; sealed later.
CREATE TABLE wharf.change_log (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    resource text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    parent_id text COLLATE "C",
    action text COLLATE "C" NOT NULL,
    changes jsonb NOT NULL DEFAULT '[]',
    message text,
    images jsonb,
    visibility text COLLATE "C" NOT NULL DEFAULT 'internal',
    actor_type text COLLATE "C" NOT NULL,
    actor_id text COLLATE "C",
    actor_name text,
    request_id text COLLATE "C",
    event_id text COLLATE "C",
    batch_id text COLLATE "C",
    location_id text COLLATE "C",
    locations jsonb, -- the set that the row belongs to; []: none, it is everybody's; NULL: location_id says it, else only for those who reach all
    audience jsonb -- ids of users, who alone may see it; NULL: everybody
) PARTITION BY RANGE (created_at);
CREATE TABLE wharf.change_log_default PARTITION OF wharf.change_log DEFAULT;
CREATE INDEX change_log_resource ON wharf.change_log (organization_id, resource_id, created_at DESC, id DESC);
CREATE INDEX change_log_parent ON wharf.change_log (organization_id, parent_id, created_at DESC, id DESC)
    WHERE parent_id IS NOT NULL;

-- The primary key is the youngest index: while a partition is empty all of its indexes cost the
-- same, and PostgreSQL takes the youngest for looking a row up, and keeps to it for as long as a
-- prepared plan lives.
ALTER TABLE wharf.change_log ADD PRIMARY KEY (organization_id, created_at, id);

-- Events (spec 07 section 1): the outbox and the record in one. data is json, not jsonb: it is
-- written once and handed on as it is.
CREATE TABLE wharf.event (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    type text COLLATE "C" NOT NULL,
    "timestamp" timestamptz(3) NOT NULL,
    location_id text COLLATE "C",
    resource_type text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    batch_id text COLLATE "C",
    actor_type text COLLATE "C" NOT NULL,
    actor_id text COLLATE "C",
    actor_name text,
    request_id text COLLATE "C",
    depth integer NOT NULL DEFAULT 0,
    data json NOT NULL,
    previous_attributes json,
    data_truncated boolean NOT NULL DEFAULT false,
    disable_webhooks boolean NOT NULL DEFAULT false,
    expires_at timestamptz(3) NOT NULL,
    traceparent text COLLATE "C",
    locations jsonb, -- the set that the row belongs to; []: none, it is everybody's; NULL: location_id says it, else only for those who reach all
    audience jsonb -- ids of users, who alone may see it; NULL: everybody
) PARTITION BY RANGE (created_at);
CREATE TABLE wharf.event_default PARTITION OF wharf.event DEFAULT;
CREATE INDEX event_resource ON wharf.event (organization_id, resource_id, created_at);
CREATE INDEX event_type ON wharf.event (organization_id, type, created_at);

-- Expired events are found by ranges of pages: they lie in the order in which they came.
CREATE INDEX event_expires ON wharf.event USING brin (expires_at) WITH (pages_per_range = 32);
-- the youngest, as of change_log
ALTER TABLE wharf.event ADD PRIMARY KEY (organization_id, created_at, id);
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['wharf.token', 'wharf.idempotency', 'wharf.change_log', 'wharf.change_log_default', 'wharf.event',
    'wharf.event_default']) AS t;
INSERT INTO wharf.setting (key, value) VALUES
    ('installation.id', gen_random_uuid()::text),
    ('clock.offset_seconds', '0'),
    ('clock.changes', '0'),
    -- 64 hex digits
    ('cursor.key', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));
-- Jobs: work that is done after, and apart from, the request that asked for it
-- (docs/internals/jobs.md). Waiting and running jobs stand in wharf.job; those that are over and
-- worth keeping in wharf.job_past. organization_id '' means the installation itself.
--
-- A job is `delayed` until run_at, then `ready`. Jobs of one (organization, lane, key) run in the
-- order of id, one at a time: a ready one that is found behind another is `blocked` until the one
-- before it has left. A worker holds `running` jobs; its lease is its row in wharf.job_worker, so
-- that one row is written per beat and not one per job. fence grows with each lease.
CREATE TABLE wharf.job (
    organization_id text COLLATE "C" NOT NULL,
    id bigint GENERATED BY DEFAULT AS IDENTITY,
    queue text COLLATE "C" NOT NULL, -- plugin.job
    -- within it keys are ordered; the queue unless its policy names one
    lane text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL, -- '': unordered
    state text COLLATE "C" NOT NULL CHECK (state IN ('delayed', 'ready', 'blocked', 'running')),
    run_at timestamptz(3) NOT NULL, -- not before
    args json NOT NULL,
    attempts integer NOT NULL DEFAULT 0, -- runs that failed
    crashes integer NOT NULL DEFAULT 0, -- worker crashes it was running in
    fence bigint NOT NULL DEFAULT 0,
    worker text COLLATE "C",
    leased_at timestamptz(3),
    cancel boolean NOT NULL DEFAULT false,
    progress_done bigint,
    progress_total bigint,
    error text, -- of the last failed run
    actor_type text COLLATE "C", -- who asked
    actor_id text COLLATE "C",
    request_id text COLLATE "C",
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- The table fills and empties all day, and a plan made for an empty one must still be right for a
-- million rows. So the indexes that the queue stands on hold expressions: nothing else can be
-- mistaken for them, whatever the statistics say.
CREATE INDEX job_ready ON wharf.job (queue, (organization_id || ''), (id + 0)) WHERE state = 'ready';
CREATE INDEX job_line ON wharf.job (lane, key, (organization_id || ''), (state <> 'running'), (id + 0)) WHERE key <> '';
CREATE INDEX job_running ON wharf.job (queue, (organization_id || '')) WHERE state = 'running';
CREATE INDEX job_due ON wharf.job (run_at) WHERE state = 'delayed';

-- Holds what leasing sees to also where nothing gets past it: one job of a line runs.
CREATE UNIQUE INDEX job_line_running ON wharf.job (organization_id, lane, key) WHERE key <> '' AND state = 'running';

CREATE TABLE wharf.job_past (
    organization_id text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    queue text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL CHECK (state IN ('done', 'parked', 'canceled')),
    reason text COLLATE "C", -- parked: retries_exhausted, worker_crash
    args json NOT NULL,
    attempts integer NOT NULL,
    crashes integer NOT NULL,
    progress_done bigint,
    progress_total bigint,
    error text,
    actor_type text COLLATE "C",
    actor_id text COLLATE "C",
    request_id text COLLATE "C",
    created_at timestamptz(3) NOT NULL,
    ended_at timestamptz(3) NOT NULL,
    expires_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX job_past_expires ON wharf.job_past (expires_at);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['wharf.job', 'wharf.job_past']) AS t;

-- Worker processes that hold jobs. lost: given up by the others; the row stays until its crash
-- report was looked at. A worker that stands still keeps its transactions and their locks, so
-- whoever finds that its lease is over ends its connections too.
CREATE TABLE wharf.job_worker (
    id text COLLATE "C" PRIMARY KEY,
    host text COLLATE "C" NOT NULL, -- boot id and process namespace: where pid means something
    pid integer NOT NULL,
    started_us bigint NOT NULL, -- CLOCK_MONOTONIC of that host
    crash_dir text NOT NULL,
    lease_until timestamptz(3) NOT NULL,
    lost boolean NOT NULL DEFAULT false,
    client text COLLATE "C" DEFAULT current_setting('application_name') -- the name of the process's connections, and of no others
);

CREATE TABLE wharf.job_schedule (
    queue text COLLATE "C" PRIMARY KEY,
    lane text COLLATE "C" NOT NULL,
    every_us bigint, -- one of these two
    at_minute integer, -- of the day, UTC
    each_organization boolean NOT NULL,
    next_at timestamptz(3) NOT NULL
);

-- A row for each change: of its log line, which is to be sealed, and of its event, which is to be
-- processed (docs/internals/events.md). The one queue for both: written with them, taken in the
-- order of position by one worker per organization, and gone when its work is done. The position
-- rises in commit order for each resource, whose row is locked when it is changed.
CREATE TABLE wharf.outbox (
    organization_id text COLLATE "C" NOT NULL,
    position bigint GENERATED BY DEFAULT AS IDENTITY,
    created_at timestamptz(3) NOT NULL, -- of both
    event_id text COLLATE "C",
    log_id text COLLATE "C",
    PRIMARY KEY (organization_id, position)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- The rows of an organization's change log form a chain in the order in which they were sealed,
-- which is `sequence`: 1, 2, 3, without holes. A row whose transaction commits late, behind others
-- that are younger, is simply sealed later. So no row can come too late for its place, and nothing
-- waits for transactions that are still open. The seals are rows of their own: log lines are never
-- written again.
CREATE TABLE wharf.log_seal (
    organization_id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL, -- of the log line
    log_id text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL
) PARTITION BY RANGE (created_at);
CREATE TABLE wharf.log_seal_default PARTITION OF wharf.log_seal DEFAULT;
CREATE INDEX log_seal_sequence ON wharf.log_seal (organization_id, sequence);
ALTER TABLE wharf.log_seal ADD PRIMARY KEY (organization_id, created_at, log_id);

-- Both ends of each chain: the newest sealed row, and the last one that retention took away (0 and
-- zeros: none yet).
CREATE TABLE wharf.log_chain (
    organization_id text COLLATE "C" NOT NULL PRIMARY KEY,
    sequence bigint NOT NULL DEFAULT 0,
    hash bytea NOT NULL DEFAULT decode(repeat('0', 64), 'hex'),
    base_sequence bigint NOT NULL DEFAULT 0,
    base_hash bytea NOT NULL DEFAULT decode(repeat('0', 64), 'hex')
);
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['wharf.outbox', 'wharf.log_seal', 'wharf.log_seal_default', 'wharf.log_chain']) AS t;

-- The request log (spec 01 section 13, docs/reference/logs.md).
CREATE TABLE wharf.request_log (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL, -- the Request-Id; its time is created_at
    created_at timestamptz(3) NOT NULL,
    method text COLLATE "C" NOT NULL,
    route text COLLATE "C",
    path text NOT NULL,
    query text,
    status smallint NOT NULL,
    code text COLLATE "C",
    duration_ms numeric(12, 3) NOT NULL,
    api_key_id text COLLATE "C",
    principal_id text COLLATE "C",
    ip text COLLATE "C",
    user_agent text,
    client_request_id text COLLATE "C",
    idempotency_key text,
    idempotent_replayed boolean NOT NULL,
    request_bytes bigint NOT NULL,
    response_bytes bigint NOT NULL,
    request_body text,
    response_body text,
    row_id text COLLATE "C", -- the row that was answered
    path_id text COLLATE "C", -- the ids in the path, from its end
    parent_id text COLLATE "C",
    audience jsonb, -- as of an event
    reach jsonb, -- the locations of the request's key; NULL: all
    areas jsonb, -- those whose scope the request needed
    PRIMARY KEY (organization_id, created_at, id)
) PARTITION BY RANGE (created_at);
CREATE TABLE wharf.request_log_default PARTITION OF wharf.request_log DEFAULT;
CREATE INDEX request_log_row ON wharf.request_log (organization_id, row_id, created_at) WHERE row_id IS NOT NULL;
CREATE INDEX request_log_path ON wharf.request_log (organization_id, path_id, created_at) WHERE path_id IS NOT NULL;
CREATE INDEX request_log_parent ON wharf.request_log (organization_id, parent_id, created_at) WHERE parent_id IS NOT NULL;
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['wharf.request_log', 'wharf.request_log_default']) AS t;

-- Processing adds these rows and writes events never again: they are wide and have many indexes.
CREATE TABLE wharf.event_done (
    organization_id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL, -- of the event
    event_id text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL,
    processed_at timestamptz(3) NOT NULL,
    head text NOT NULL, -- the body's bytes up to its data; the body is head, data, previous_attributes and "}"
    steps json NOT NULL
) PARTITION BY RANGE (created_at);
CREATE TABLE wharf.event_done_default PARTITION OF wharf.event_done DEFAULT;
CREATE INDEX event_done_sequence ON wharf.event_done (organization_id, sequence);
ALTER TABLE wharf.event_done ADD PRIMARY KEY (organization_id, created_at, event_id);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['wharf.event_done', 'wharf.event_done_default']) AS t;

-- The last number given in each organization.
CREATE TABLE wharf.event_counter (
    organization_id text COLLATE "C" NOT NULL PRIMARY KEY,
    sequence bigint NOT NULL
);

-- Steps that failed and are tried again.
CREATE TABLE wharf.event_retry (
    organization_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    event_created_at timestamptz(3) NOT NULL,
    step text COLLATE "C" NOT NULL,
    attempts integer NOT NULL, -- calls that failed
    next_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, event_id, step)
);
CREATE INDEX event_retry_next ON wharf.event_retry (next_at);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['wharf.event_counter', 'wharf.event_retry']) AS t;

-- Channels: short messages to those who wait (docs/internals/events.md 'Channels').
CREATE TABLE wharf.channel (
    organization_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (organization_id, name)
);

CREATE TABLE wharf.channel_message (
    organization_id text COLLATE "C" NOT NULL,
    channel text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    created_at timestamptz(3) NOT NULL,
    type text COLLATE "C" NOT NULL,
    -- streams with this tag end with the message, the others do not see it
    ends text COLLATE "C",         
    data text NOT NULL,
    PRIMARY KEY (organization_id, channel, seq)
);
CREATE INDEX channel_message_created ON wharf.channel_message (created_at);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['wharf.channel', 'wharf.channel_message']) AS t;

-- Tables that are only added to are analyzed again and again while they grow, beside whoever adds
-- to them. Their rows are read by organization and moment, for which a sample of 6,000 rows is as
-- good as one of 30,000; what is no key of anything is not counted at all.
DO $$
DECLARE
    col record;
BEGIN
    FOR col IN SELECT a.attrelid::regclass AS parent, a.attname,
            CASE WHEN a.attname IN ('locations', 'audience', 'reach', 'areas') THEN 20
                WHEN a.atttypid IN ('json'::regtype, 'jsonb'::regtype) OR a.attname = 'head' THEN 0 ELSE 20 END AS target
        FROM pg_attribute a WHERE a.attnum > 0 AND NOT a.attisdropped
            AND a.attrelid = ANY (ARRAY['wharf.change_log', 'wharf.request_log', 'wharf.event', 'wharf.event_done', 'wharf.log_seal']::regclass[])
    LOOP
        -- and of its partitions
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s', col.parent, col.attname, col.target);
    END LOOP;
END
$$;

-- The deliveries of events to webhooks, as the module that delivers has them: it replaces this
-- empty view by one of its own table, with the same columns. initial: made when the event was
-- processed; attempted: at least one request was made for it.
CREATE VIEW wharf.event_delivery AS
    SELECT ''::text COLLATE "C" AS organization_id, ''::text COLLATE "C" AS event_id, ''::text COLLATE "C" AS webhook_id,
        ''::text COLLATE "C" AS state, false AS initial, false AS attempted
    WHERE false;

-- Addresses outside of an organization that have asked for its mail, and are written to: the module
-- that has them replaces this empty view by one of its own table, with the same columns. Mail of
-- workflows and hooks goes to them and to users, to nobody else (docs/spec/08-workflows-and-lua.md
-- section 5).
CREATE VIEW wharf.subscriber AS
    SELECT ''::text COLLATE "C" AS organization_id, ''::text AS email
    WHERE false;

-- Views of the kernel that a module puts its own in place of. Migrations of plugins change nothing
-- else outside of their schema.
COMMENT ON VIEW wharf.subscriber IS 'wharf:offered';
COMMENT ON VIEW wharf.event_delivery IS 'wharf:offered';
