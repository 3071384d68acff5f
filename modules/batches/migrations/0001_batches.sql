-- wharf: phase=expand

-- Batches, their items by chunks, and what was wrong with single items (spec 10).
CREATE TABLE batches.batch (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    resource text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    mode text COLLATE "C" NOT NULL,
    via text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    reason text COLLATE "C",
    name text,
    duplicate_handling text COLLATE "C" NOT NULL,
    location_id text COLLATE "C",
    properties jsonb,
    filters jsonb,
    match_by text COLLATE "C" NOT NULL,
    column_mapping jsonb,
    file_options jsonb,
    save_upload boolean NOT NULL,
    save_result boolean NOT NULL,
    save_result_date_format text COLLATE "C" NOT NULL,
    validate_only boolean NOT NULL,
    disable_webhooks boolean NOT NULL,
    parent_batch_id text COLLATE "C",
    phases jsonb NOT NULL DEFAULT '[]',
    stats jsonb NOT NULL DEFAULT '{}',
    progress bigint NOT NULL DEFAULT 0,
    file jsonb,
    warnings jsonb NOT NULL DEFAULT '[]',
    checksum text COLLATE "C",
    started_at timestamptz(3),
    finished_at timestamptz(3),
    -- what only the engine sees
    key_id text COLLATE "C" NOT NULL DEFAULT '',
    source_url text, -- still to be fetched
    source_file text COLLATE "C", -- the file as it came, in the blob store
    files jsonb NOT NULL DEFAULT '{}', -- links of section 10 to files of the blob store
    total bigint NOT NULL DEFAULT 0, -- items
    lease bigint NOT NULL DEFAULT 0, -- raised by whoever takes the batch over: who has an older one can't commit
    -- failed runs of the job when it last began: more of them since, and nobody crashed
    runs bigint NOT NULL DEFAULT -1,
    chunk integer NOT NULL DEFAULT 0, -- the chunk that runs, and how often it was begun
    tries integer NOT NULL DEFAULT 0,
    cancel_asked boolean NOT NULL DEFAULT false,
    kept boolean NOT NULL DEFAULT true, -- its items are still there
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX batch_created_at ON batches.batch (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX batch_updated_at ON batches.batch (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX batch_status ON batches.batch (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX batch_resource ON batches.batch (organization_id, resource, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX batch_action ON batches.batch (organization_id, action, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX batch_mode ON batches.batch (organization_id, mode, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX batch_via ON batches.batch (organization_id, via, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX batch_location ON batches.batch (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX batch_created_by ON batches.batch (organization_id, created_by, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX batch_parent ON batches.batch (organization_id, parent_batch_id, created_at, id) WHERE deleted_at IS NULL AND parent_batch_id IS NOT NULL;

CREATE TABLE batches.chunk (
    organization_id text COLLATE "C" NOT NULL,
    batch_id text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    first integer NOT NULL, -- index of its first item
    size integer NOT NULL,
    items text NOT NULL, -- JSON array, as they came
    lines jsonb, -- where they stood in the file; null: no file
    states text COLLATE "C" NOT NULL,
    ids jsonb, -- of the records, null where there is none
    stage smallint NOT NULL DEFAULT 0, -- 1 validated, 2 processed
    events integer NOT NULL DEFAULT 0,
    item integer NOT NULL DEFAULT -1, -- when they run one by one: which, and how often it was begun
    item_tries integer NOT NULL DEFAULT 0,
    pending integer NOT NULL GENERATED ALWAYS AS (batches.letters(states, '.')) STORED,
    created integer NOT NULL GENERATED ALWAYS AS (batches.letters(states, 'c')) STORED,
    updated integer NOT NULL GENERATED ALWAYS AS (batches.letters(states, 'u')) STORED,
    overwritten integer NOT NULL GENERATED ALWAYS AS (batches.letters(states, 'o')) STORED,
    deleted integer NOT NULL GENERATED ALWAYS AS (batches.letters(states, 'd')) STORED,
    unchanged integer NOT NULL GENERATED ALWAYS AS (batches.letters(states, 'n')) STORED,
    not_parsed integer NOT NULL GENERATED ALWAYS AS (batches.letters(states, 'a')) STORED,
    not_valid integer NOT NULL GENERATED ALWAYS AS (batches.letters(states, 'v')) STORED,
    not_done integer NOT NULL GENERATED ALWAYS AS (batches.letters(states, 'e')) STORED,
    ignored integer NOT NULL GENERATED ALWAYS AS (batches.letters(states, 'i')) STORED,
    skipped integer NOT NULL GENERATED ALWAYS AS (batches.letters(states, 's')) STORED,
    -- Several workers on one batch: whose a chunk is (the batch's lease under which it was taken;
    -- 0: nobody's), and how often it was begun.
    lease bigint NOT NULL DEFAULT 0,
    tries smallint NOT NULL DEFAULT 0,
    CHECK (length(states) = size),
    PRIMARY KEY (organization_id, batch_id, number)
);

CREATE TABLE batches.line (
    organization_id text COLLATE "C" NOT NULL,
    batch_id text COLLATE "C" NOT NULL,
    index integer NOT NULL,
    phase text COLLATE "C" NOT NULL,
    code text COLLATE "C" NOT NULL,
    line jsonb NOT NULL, -- message, errors, violations, duplicate_of
    PRIMARY KEY (organization_id, batch_id, index)
);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['batches.batch', 'batches.chunk', 'batches.line']) AS t;
