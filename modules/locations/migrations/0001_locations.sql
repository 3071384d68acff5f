-- wharf: phase=expand

-- Locations, the layouts below them, and the addresses the organization knows (spec 02 sections 1
-- to 3).
CREATE TABLE locations.location (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    code text,
    address jsonb NOT NULL,
    address_line2 text,
    formatted_address text,
    email text,
    phone text,
    active boolean NOT NULL DEFAULT true,
    timezone text COLLATE "C",
    operating_hours jsonb NOT NULL DEFAULT '{}',
    operating_hours_display jsonb NOT NULL DEFAULT '[]',
    holidays jsonb NOT NULL DEFAULT '[]',
    service_levels jsonb NOT NULL DEFAULT '[]',
    provider_instructions text,
    kiosk_message text,
    pickup_types jsonb NOT NULL DEFAULT '[]',
    settings jsonb NOT NULL DEFAULT '{}',
    default_layout_id text COLLATE "C" NOT NULL,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    -- Counts the changes of a location's groups, which the groups keep: a request that changes
    -- nothing else changes the row all the same.
    groups_changes bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX location_code ON locations.location (organization_id, lower(code)) WHERE deleted_at IS NULL;
CREATE INDEX location_by_name ON locations.location (organization_id, lower(name) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX location_created ON locations.location (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX location_updated ON locations.location (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX location_metadata ON locations.location USING gin (metadata jsonb_path_ops);
CREATE INDEX location_search_name ON locations.location USING gin (wharf.fold(name) public.gin_trgm_ops);
CREATE INDEX location_search_code ON locations.location USING gin (wharf.fold(code) public.gin_trgm_ops);
CREATE INDEX location_search_address ON locations.location USING gin (wharf.fold(formatted_address) public.gin_trgm_ops);
CREATE INDEX location_search_email ON locations.location USING gin (wharf.fold(email) public.gin_trgm_ops);
CREATE INDEX location_code_order ON locations.location (organization_id, lower(code) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX location_code_down ON locations.location (organization_id, lower(code) COLLATE "C" DESC NULLS LAST, id DESC) WHERE deleted_at IS NULL;
CREATE STATISTICS locations.location_names ON lower(name) FROM locations.location;
CREATE STATISTICS locations.location_codes ON lower(code) FROM locations.location;

-- path is the parent's id, null for a root; parent_id repeats it under its second name.
-- nested_name, root_id and depth follow from the ancestors and are kept up to date with them.
CREATE TABLE locations.layout (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    code text,
    path text COLLATE "C",
    parent_id text COLLATE "C",
    root_id text COLLATE "C" NOT NULL,
    nested_name text NOT NULL,
    depth bigint NOT NULL DEFAULT 1,
    is_default boolean NOT NULL DEFAULT false,
    position bigint NOT NULL DEFAULT 0,
    checksum text COLLATE "C" NOT NULL,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX layout_code ON locations.layout (organization_id, location_id, lower(code)) WHERE deleted_at IS NULL;
CREATE INDEX layout_children ON locations.layout (organization_id, location_id, path, position, id) WHERE deleted_at IS NULL;
CREATE INDEX layout_created ON locations.layout (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX layout_metadata ON locations.layout USING gin (metadata jsonb_path_ops);
CREATE INDEX layout_search_name ON locations.layout USING gin (wharf.fold(name) public.gin_trgm_ops);
CREATE INDEX layout_search_nested_name ON locations.layout USING gin (wharf.fold(nested_name) public.gin_trgm_ops);
CREATE INDEX layout_search_code ON locations.layout USING gin (wharf.fold(code) public.gin_trgm_ops);
-- Finds layouts below a layout without their location: for filters by place, removed layouts.
CREATE INDEX layout_path ON locations.layout (organization_id, path) WHERE path IS NOT NULL;

-- Every address that a row of any module was given, by the id that follows from its parts.
CREATE TABLE locations.address (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    address jsonb NOT NULL,
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, id)
);
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['locations.location', 'locations.layout', 'locations.address']) AS t;
