-- wharf: phase=expand
-- What operators' hooks keep (docs/lua-hooks.md): wharf.kv and wharf.lock, of each organization.
CREATE TABLE wharf.hook_kv (
    organization_id text COLLATE "C",
    key text COLLATE "C",
    value jsonb NOT NULL,
    expires_at timestamptz(3),
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
