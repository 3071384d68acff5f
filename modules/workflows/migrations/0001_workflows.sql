-- wharf: phase=expand
-- Workflows as they are edited, their published versions, runs, and the key-value stores (docs/spec/08-workflows-and-lua.md sections 1, 4, 5 and 7).

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
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX workflow_name ON workflows.workflow (organization_id, lower(name)) WHERE deleted_at IS NULL;
CREATE INDEX workflow_created ON workflows.workflow (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX workflow_updated ON workflows.workflow (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX workflow_search_name ON workflows.workflow USING gin (lower(name) public.gin_trgm_ops);
CREATE INDEX workflow_search_description ON workflows.workflow USING gin (lower(description) public.gin_trgm_ops);

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
    started_at timestamptz(3) NOT NULL,
    finished_at timestamptz(3) NOT NULL,
    duration_ms bigint NOT NULL,
    queued_ms bigint NOT NULL,
    usage jsonb NOT NULL,
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
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX run_created ON workflows.run (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX run_workflow ON workflows.run (organization_id, workflow_id, created_at, id) WHERE deleted_at IS NULL;

CREATE TABLE workflows.kv (
    organization_id text COLLATE "C" NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value jsonb NOT NULL,
    expires_at timestamptz(3),
    PRIMARY KEY (organization_id, workflow_id, key)
);

SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['workflows.workflow', 'workflows.version', 'workflows.run', 'workflows.kv']) AS t;
