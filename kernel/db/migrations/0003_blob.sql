-- wharf: phase=expand
-- Files: what an organization calls its bytes. The bytes are objects of the blob store, found by their hash; several files may mean the
-- same object. An object that no row names is erased (services/blob/file.h says how that can't meet a new row).

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
    want_size bigint, -- of an upload: exactly this
    max_size bigint, -- of an upload: at most this
    expires_at timestamptz(3), -- then it is gone, and its row soon after
    stored_at timestamptz(3),
    PRIMARY KEY (organization_id, id),
    CHECK ((state = 'stored') = (hash IS NOT NULL AND size IS NOT NULL))
);
CREATE INDEX file_hash ON wharf.file (hash) WHERE hash IS NOT NULL;
CREATE INDEX file_expires_at ON wharf.file (expires_at) WHERE expires_at IS NOT NULL;
SELECT wharf.protect_table('wharf.file'::regclass);

-- Keys of signed links: the second one was the first before the last rotation, and is still accepted.
INSERT INTO wharf.setting (key, value) VALUES
    ('file.key', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')),
    ('file.key.previous', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));

CREATE FUNCTION wharf.rotate_file_key() RETURNS void LANGUAGE sql AS $$
    UPDATE wharf.setting SET value = (SELECT value FROM wharf.setting WHERE key = 'file.key'), updated_at = now()
    WHERE key = 'file.key.previous';
    UPDATE wharf.setting SET value = replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), updated_at = now()
    WHERE key = 'file.key';
$$;
