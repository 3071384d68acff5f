-- wharf: phase=expand
-- Organizations, users, devices, roles and API keys (spec 01 sections 5, 6, 7 and 12): who asks,
-- and what they may. The module org serves them; plugins' SQL may read and write their
-- organization's rows (kernel/db/sql/grant_identity.sql).

-- An organization is a tenant; its row carries its own id as organization_id. A live one may have a
-- test twin, whose rows are all its own except users, roles, devices and settings, which are read
-- from the live one.
CREATE TABLE wharf.organization (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    active boolean NOT NULL DEFAULT true,
    mode text COLLATE "C" NOT NULL DEFAULT 'live' CHECK (mode IN ('live', 'test')),
    live_organization_id text COLLATE "C",
    test_organization_id text COLLATE "C",
    profile jsonb NOT NULL DEFAULT '{}',
    logo_url text,
    social_media jsonb NOT NULL DEFAULT '{}',
    currency text COLLATE "C" NOT NULL DEFAULT 'usd',
    requirements jsonb NOT NULL DEFAULT '{}',
    settings jsonb NOT NULL DEFAULT '{}',
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id),
    CHECK (id = organization_id),
    CHECK ((mode = 'test') = (live_organization_id IS NOT NULL))
);

-- scopes: area -> 1 (read) or 2 (write)
CREATE TABLE wharf.role (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    scopes jsonb NOT NULL DEFAULT '{}',
    location_restricted boolean NOT NULL DEFAULT true,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX role_name ON wharf.role (organization_id, lower(name)) WHERE deleted_at IS NULL;

-- role: owner, developer, admin, user, or the id of a row of wharf.role
CREATE TABLE wharf.user (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    email text NOT NULL,
    role text COLLATE "C" NOT NULL DEFAULT 'user',
    phone text,
    profile_id text COLLATE "C",
    status text COLLATE "C" NOT NULL DEFAULT 'active' CHECK (status IN ('invited', 'active', 'disabled')),
    allow_all_locations boolean NOT NULL DEFAULT true,
    notification_events jsonb NOT NULL DEFAULT '[]',
    fcm_tokens jsonb NOT NULL DEFAULT '[]',
    developer_mode boolean NOT NULL DEFAULT false,
    dark_mode boolean NOT NULL DEFAULT false,
    show_dock boolean NOT NULL DEFAULT true,
    onboarded_apps jsonb NOT NULL DEFAULT '[]',
    requirements jsonb NOT NULL DEFAULT '{"email_verified": false}',
    metadata jsonb NOT NULL DEFAULT '{}',
    signed_in_at timestamptz(3),
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    locations jsonb NOT NULL DEFAULT '[]', -- principal_location follows from it
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX user_email ON wharf.user (organization_id, lower(email)) WHERE deleted_at IS NULL;

-- scopes null: those of the role `user`
CREATE TABLE wharf.device (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    location_id text COLLATE "C",
    allow_all_locations boolean NOT NULL DEFAULT true,
    scopes jsonb,
    platform text COLLATE "C" NOT NULL DEFAULT 'other',
    device_token text,
    status text COLLATE "C" NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
    last_seen_at timestamptz(3),
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    locations jsonb NOT NULL DEFAULT '[]', -- principal_location follows from it
    PRIMARY KEY (organization_id, id)
);

-- Keys of live and of test mode are rows of the live organization; mode says whose data a key works
-- on. The hash of a key's text (SHA-256, or HMAC with auth.pepper) is in wharf.token, the unique
-- column that a request finds a key by.
CREATE TABLE wharf.api_key (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text,
    last4 text COLLATE "C" NOT NULL,
    mode text COLLATE "C" NOT NULL DEFAULT 'live' CHECK (mode IN ('live', 'test')),
    type text COLLATE "C" NOT NULL DEFAULT 'user' CHECK (type IN ('user', 'system')),
    scopes jsonb NOT NULL DEFAULT '{}',
    user_id text COLLATE "C",
    device_id text COLLATE "C",
    allow_all_locations boolean NOT NULL DEFAULT true,
    ip_allowlist jsonb NOT NULL DEFAULT '[]',
    expires_at timestamptz(3),
    last_used_at timestamptz(3),
    replaced_by text COLLATE "C",
    revoked_at timestamptz(3),
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    location_ids jsonb NOT NULL DEFAULT '[]', -- principal_location follows from it
    PRIMARY KEY (organization_id, id),
    CHECK (user_id IS NULL OR device_id IS NULL)
);
CREATE INDEX api_key_user ON wharf.api_key (organization_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX api_key_device ON wharf.api_key (organization_id, device_id) WHERE device_id IS NOT NULL;

-- Which locations a principal without allow_all_locations reaches. principal_type: user, device,
-- api_key.
CREATE TABLE wharf.principal_location (
    organization_id text COLLATE "C" NOT NULL,
    principal_type text COLLATE "C" NOT NULL CHECK (principal_type IN ('user', 'device', 'api_key')),
    principal_id text COLLATE "C" NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (organization_id, principal_type, principal_id, location_id)
);
CREATE INDEX principal_location_location ON wharf.principal_location (organization_id, location_id);
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['wharf.organization', 'wharf.role', 'wharf.user', 'wharf.device', 'wharf.api_key', 'wharf.principal_location']) AS t;
CREATE INDEX api_key_end ON wharf.api_key ((LEAST(expires_at, revoked_at))) WHERE LEAST(expires_at, revoked_at) IS NOT NULL;

-- Requests of test keys read the people of the live organization (docs/decisions 10): their SQL
-- sees these rows as well.
DO $$
DECLARE
    target regclass;
BEGIN
    FOREACH target IN ARRAY ARRAY['wharf.organization', 'wharf.role', 'wharf.user', 'wharf.device', 'wharf.api_key', 'wharf.principal_location']::regclass[]
    LOOP
        EXECUTE format('CREATE POLICY live ON %s USING (organization_id = current_setting(''wharf.live_organization'', true))', target);
    END LOOP;
END
$$;

-- The tables of the server that a module may serve as resources (resource/table_check.c).
COMMENT ON TABLE wharf.organization IS 'wharf:served';
COMMENT ON TABLE wharf.role IS 'wharf:served';
COMMENT ON TABLE wharf.user IS 'wharf:served';
COMMENT ON TABLE wharf.device IS 'wharf:served';
COMMENT ON TABLE wharf.api_key IS 'wharf:served';
