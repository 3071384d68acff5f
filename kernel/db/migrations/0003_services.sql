-- wharf: phase=expand
-- The services of the server keep files, hooks of operators and workflows, and mail of test
-- organizations.

-- Files: what an organization calls its bytes. The bytes are objects of the blob store, found by
-- their hash; several files may mean the same object. An object that no row names is erased
-- (services/blob/blob_file.h says how that can't meet a new row).
CREATE TABLE wharf.file (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    plugin text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'stored')),
    name text NOT NULL,
    type text COLLATE "C" NOT NULL,
    size bigint,
    hash text COLLATE "C",
    md5 text COLLATE "C", -- base64; of what was brought by a link
    want_size bigint, -- of an upload: exactly this
    max_size bigint, -- of an upload: at most this
    expires_at timestamptz(3), -- then it is gone, and its row soon after
    stored_at timestamptz(3),
    linked_at timestamptz(3), -- a copy was made for links that lead past this server
    announce text COLLATE "C", -- the job that is told when the bytes of an upload have come
    read_at timestamptz(3), -- when the stored bytes were last read to see that they are whole
    -- what was found then, null: they are whole; and what the plugin was told of that
    damage text COLLATE "C" CHECK (damage IN ('damaged', 'lost')),
    damage_told text COLLATE "C",
    PRIMARY KEY (organization_id, id),
    CHECK ((state = 'stored') = (hash IS NOT NULL AND size IS NOT NULL))
);
CREATE INDEX file_hash ON wharf.file (hash) WHERE hash IS NOT NULL;
CREATE INDEX file_read ON wharf.file ((coalesce(read_at, stored_at)), hash) WHERE state = 'stored';
CREATE INDEX file_damage ON wharf.file (read_at, hash) WHERE damage IS NOT NULL;
CREATE INDEX file_damage_told
    ON wharf.file (organization_id, id) WHERE damage IS DISTINCT FROM damage_told;
CREATE INDEX file_expires_at ON wharf.file (expires_at) WHERE expires_at IS NOT NULL;
SELECT wharf.protect_table('wharf.file'::regclass);

-- Keys of signed links: the second one was the first before the last rotation, and is still
-- accepted.
INSERT INTO wharf.setting (key, value) VALUES
    ('file.key', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')),
    ('file.key.previous', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));

-- Up to when the schedules of operators' hooks were turned into jobs (docs/reference/lua-hooks.md):
-- the lock of a row makes each due time one, in the whole cluster.
CREATE TABLE wharf.hook_plan (
    hook text COLLATE "C" PRIMARY KEY,
    until_at timestamptz(3) NOT NULL
);

-- Operators' hooks keep values and locks (docs/reference/lua-hooks.md: wharf.kv, wharf.lock), of
-- each organization.
CREATE TABLE wharf.hook_kv (
    organization_id text COLLATE "C",
    key text COLLATE "C",
    value jsonb NOT NULL,
    expires_at timestamptz(3),
    -- A key takes so much of its organization's 10 MiB; each write of a hook adds these up.
    bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(key) + octet_length(value::text)) STORED,
    PRIMARY KEY (organization_id, key)
);
CREATE INDEX hook_kv_expires ON wharf.hook_kv (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE wharf.hook_lock (
    organization_id text COLLATE "C",
    name text COLLATE "C",
    token text COLLATE "C" NOT NULL,
    expires_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, name)
);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['wharf.hook_kv', 'wharf.hook_lock']) AS t;

-- Which writes of an organization have hooks of its own (docs/spec/08-workflows-and-lua.md section
-- 3): read with each key, so that a write without hooks asks nothing. owner: who said so, a
-- workflow; what: "location:create".
CREATE TABLE wharf.hook (
    organization_id text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    what text COLLATE "C" NOT NULL,
    PRIMARY KEY (organization_id, owner, what)
);
SELECT wharf.protect_table('wharf.hook');

-- A test organization would have sent this (spec 01 section 5 'Test mode'); it is kept for 30 days,
-- to be looked at.
CREATE TABLE wharf.mail_outbox (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('mail', 'push')),
    recipients jsonb NOT NULL DEFAULT '[]',
    subject text,
    text text,
    html text,
    reply_to text,
    files jsonb NOT NULL DEFAULT '[]',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX mail_outbox_created_at ON wharf.mail_outbox (created_at);
SELECT wharf.protect_table('wharf.mail_outbox');
COMMENT ON TABLE wharf.mail_outbox IS 'wharf:served';
SELECT wharf.ensure_partitions(now());
