-- wharf: phase=expand

-- Workflows as they are edited, their published versions, runs, and the key-value stores
-- (docs/spec/08-workflows-and-lua.md sections 1, 4, 5 and 7).
CREATE TABLE workflows.workflow (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    description text,
    enabled boolean NOT NULL DEFAULT true,
    allowed_locations jsonb, -- null or none: all
    source text NOT NULL,
    files jsonb NOT NULL DEFAULT '{}',
    triggers jsonb NOT NULL DEFAULT '[]',
    scopes jsonb NOT NULL DEFAULT '[]',
    settings jsonb NOT NULL DEFAULT '{}',
    draft_revision bigint NOT NULL DEFAULT 1,
    published_version bigint,
    published_revision bigint, -- the draft_revision that was published last
    published_at timestamptz(3),
    published_by text COLLATE "C",
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    -- Queued runs: a row of workflows.run is in the queue from queued or waiting to its end
    -- (docs/spec/08-workflows-and-lua.md sections 3 and 7).
    --
    -- Due work of a workflow is found by (workflow_id, due_at, line). Among runs with one order_key
    -- only the first that is not over has a due_at before infinity; its end makes the next one due.
    -- Adding, claiming and settling of an organization hold one advisory lock to their commit, so
    -- that a run that is added behind another one is seen by the end of that one. A statement that
    -- changes rows of workflows.workflow as well takes those first.
    event_triggers boolean NOT NULL DEFAULT false, -- of the published version
    retry jsonb,
    concurrency jsonb,
    record jsonb,
    http_hosts jsonb,
    last_run jsonb,
    failure_streak bigint NOT NULL DEFAULT 0,
    failed_count bigint NOT NULL DEFAULT 0, -- since failures were told last
    failed_told_at timestamptz(3),
    disabled_reason text,
    -- Number of the last change: devices ask by GET /v1/workflows/sync for changes since they asked
    -- last (docs/spec/08-workflows-and-lua.md section 2). Changes of an organization's workflows
    -- are numbered in the order of their commits, under a lock that each holds to its end; a moment
    -- would leave out what is committed late. What runs
    -- leave in the row (last_run, failure_streak) is no change.
    change bigint NOT NULL DEFAULT 0,
    -- Hooks of workflows on writes (docs/spec/08-workflows-and-lua.md section 3).
    priority bigint NOT NULL DEFAULT 0,
    on_error text COLLATE "C" NOT NULL DEFAULT 'reject',
    hook_triggers boolean NOT NULL DEFAULT false, -- of the published version
    hook_failures bigint NOT NULL DEFAULT 0, -- of before hooks, since hook_failing_at
    hook_failing_at timestamptz(3),
    failing_since timestamptz(3), -- a before hook that rejects has failed too often
    -- Limits of a workflow, less than the operator's ceilings (docs/spec/08-workflows-and-lua.md
    -- section 6). Versions have it among their options.
    budget jsonb,
    -- Counts the bodies of workflows that carried secrets (docs/spec/08-workflows-and-lua.md
    -- section 1): who sends nothing else changes the workflow too.
    secrets_changes bigint NOT NULL DEFAULT 0,
    -- Before hooks that fail are counted over the last five minutes at each failure
    -- (docs/spec/08-workflows-and-lua.md section 7), not from the first one of a window: two times
    -- 49 around its end are more than 50.
    -- the last 50 of these; without hook_failing_at none
    hook_failed_at timestamptz(3)[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX workflow_name ON workflows.workflow (organization_id, lower(name)) WHERE deleted_at IS NULL;
CREATE INDEX workflow_created ON workflows.workflow (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX workflow_updated ON workflows.workflow (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX workflow_search_name ON workflows.workflow USING gin (lower(name) public.gin_trgm_ops);
CREATE INDEX workflow_search_description ON workflows.workflow USING gin (lower(description) public.gin_trgm_ops);
CREATE INDEX workflow_events ON workflows.workflow (organization_id) WHERE event_triggers AND enabled AND deleted_at IS NULL;
CREATE INDEX workflow_change ON workflows.workflow (organization_id, change);

-- Immutable.
CREATE TABLE workflows.version (
    organization_id text COLLATE "C" NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    note text,
    sha256 text COLLATE "C" NOT NULL, -- of source and files
    source text NOT NULL,
    files jsonb NOT NULL,
    triggers jsonb NOT NULL,
    scopes jsonb NOT NULL,
    settings jsonb NOT NULL,
    published_at timestamptz(3) NOT NULL,
    published_by text COLLATE "C" NOT NULL,
    publisher_key text COLLATE "C" NOT NULL, -- whose rights its runs have
    options jsonb NOT NULL DEFAULT '{}', -- retry, concurrency, record, http_hosts
    PRIMARY KEY (organization_id, workflow_id, number)
);

CREATE TABLE workflows.run (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    workflow_version bigint, -- null: the draft
    trigger jsonb NOT NULL,
    trigger_type text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'succeeded', 'failed', 'rejected', 'skipped', 'canceled')),
    key text COLLATE "C" NOT NULL,
    attempt bigint NOT NULL,
    location_id text COLLATE "C",
    on_behalf_of text COLLATE "C",
    depth bigint NOT NULL,
    seed text COLLATE "C" NOT NULL,
    started_at timestamptz(3),
    finished_at timestamptz(3),
    duration_ms bigint,
    queued_ms bigint,
    usage jsonb,
    input jsonb,
    input_truncated boolean NOT NULL,
    output jsonb,
    output_truncated boolean NOT NULL,
    logs jsonb NOT NULL,
    error jsonb,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    line bigint,
    due_at timestamptz(3),
    order_key text COLLATE "C",
    retries bigint NOT NULL DEFAULT 0,
    attempts jsonb NOT NULL DEFAULT '[]',
    event_id text COLLATE "C",
    resource_id text COLLATE "C",
    worker text COLLATE "C", -- running: which job has it, and until when it is believed
    lease_until timestamptz(3),
    cancel boolean NOT NULL DEFAULT false,
    pinned bigint, -- version, when it is not the one that is current at the start
    -- Whether an input is too large to be kept is known when it is written
    -- (docs/spec/08-workflows-and-lua.md section 7): to make a text of it again cost settle() a
    -- third of its time. And what was claimed behind a run that takes long is given back while it
    -- runs.
    input_large boolean NOT NULL DEFAULT false,
    -- The locations that the caller reached who asked for the run without waiting; null: all.
    reach jsonb,
    -- Whether the run's requests and answers are recorded, by record.io
    -- (docs/spec/08-workflows-and-lua.md section 8, wharf lua replay). A table of its own: rows of
    -- runs stay narrow. It goes with its run.
    replayable boolean NOT NULL DEFAULT false,
    -- The input of a run, where it differs from the input that is shown: values of secrets are
    -- taken out of `input` and `trigger` before they are written (docs/spec/08-workflows-and-lua.md
    -- section 6), and the run, and who does it again, still get what was sent. {value, trigger};
    -- null: as shown.
    given jsonb,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX run_created ON workflows.run (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX run_workflow ON workflows.run (organization_id, workflow_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX run_due ON workflows.run (organization_id, workflow_id, due_at, line) WHERE status IN ('queued', 'waiting');
CREATE INDEX run_order ON workflows.run (organization_id, workflow_id, order_key, line) WHERE order_key IS NOT NULL AND status IN ('queued', 'waiting', 'running');
CREATE INDEX run_running ON workflows.run (organization_id, workflow_id) WHERE status = 'running';
-- A run that is told to end, and ends its attempt before it hears of it, does not wait for another
-- one (docs/spec/08-workflows-and-lua.md section 7): its end and the next claim look for such runs,
-- the latter for those that were given back by whoever had them.
CREATE INDEX run_canceled ON workflows.run (organization_id) WHERE cancel AND status IN ('queued', 'waiting');

CREATE TABLE workflows.kv (
    organization_id text COLLATE "C" NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value jsonb NOT NULL,
    expires_at timestamptz(3),
    -- Bytes of its workflow's 10 MiB that the key takes: each write of a run adds them up, and
    -- would else read and print every value of the store.
    bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(key) + octet_length(value::text)) STORED,
    PRIMARY KEY (organization_id, workflow_id, key)
);
-- Runs end after 30 days, and beyond 10,000 of a workflow; values of the store at their time
-- (docs/spec/08-workflows-and-lua.md sections 5 and 7).
CREATE INDEX kv_expires ON workflows.kv (expires_at) WHERE expires_at IS NOT NULL;
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['workflows.workflow', 'workflows.version', 'workflows.run', 'workflows.kv']) AS t;
CREATE SEQUENCE workflows.line;

-- Secrets of workflows: of the workflow, not of a version (docs/spec/08-workflows-and-lua.md
-- section 1). Values are sealed.
CREATE TABLE workflows.secret (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX secret_key ON workflows.secret (organization_id, workflow_id, key) WHERE deleted_at IS NULL;
CREATE INDEX secret_created ON workflows.secret (organization_id, created_at, id) WHERE deleted_at IS NULL;
SELECT wharf.protect_table('workflows.secret');

-- When triggers of type schedule are due next (docs/spec/08-workflows-and-lua.md section 3): a row
-- for each of those of published versions of workflows that are enabled. Whoever has the row's lock
-- starts its run and moves the row on, so that it is started once.
CREATE TABLE workflows.schedule (
    organization_id text COLLATE "C" NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    place bigint NOT NULL, -- of the trigger in the version's list
    next_at timestamptz(3) NOT NULL,
    -- When a schedule's next time was reckoned. That lies ahead of now when the clock was set back;
    -- by more than an hour, the next time is reckoned anew, or else nothing would run until the
    -- clock is where it was.
    reckoned_at timestamptz(3) NOT NULL DEFAULT wharf.now(),
    PRIMARY KEY (organization_id, workflow_id, place)
);
CREATE INDEX schedule_next ON workflows.schedule (next_at);
CREATE INDEX schedule_reckoned ON workflows.schedule (reckoned_at);
SELECT wharf.protect_table('workflows.schedule');

-- wharf.lock of runs (docs/spec/08-workflows-and-lua.md section 5): who has the row has the lock,
-- until it ends.
CREATE TABLE workflows.lock (
    organization_id text COLLATE "C" NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    expires_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, workflow_id, name)
);
SELECT wharf.protect_table('workflows.lock');
CREATE SEQUENCE workflows.change;

CREATE TABLE workflows.recording (
    organization_id text COLLATE "C" NOT NULL,
    run_id text COLLATE "C" NOT NULL,
    data json NOT NULL,
    PRIMARY KEY (organization_id, run_id),
    FOREIGN KEY (organization_id, run_id) REFERENCES workflows.run (organization_id, id) ON DELETE CASCADE
);
SELECT wharf.protect_table('workflows.recording');
