-- wharf: phase=expand

-- Containers and their histories (spec 02 section 8).
CREATE TABLE containers.container (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text,
    tracking_number text,
    status text COLLATE "C" NOT NULL,
    filters jsonb NOT NULL DEFAULT '[]',
    location_id text COLLATE "C",
    layout_id text COLLATE "C",
    coordinates jsonb,
    user_id text COLLATE "C",
    vehicle_id text COLLATE "C",
    estimated_delivery_at timestamptz(3),
    metadata jsonb NOT NULL DEFAULT '{}',
    history_count bigint NOT NULL DEFAULT 0,
    members_count bigint NOT NULL DEFAULT 0,
    status_changes bigint NOT NULL DEFAULT 0,
    metadata_text text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX container_tracking_number ON containers.container (organization_id, upper(tracking_number)) WHERE deleted_at IS NULL;
CREATE INDEX container_created_at ON containers.container (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX container_updated_at ON containers.container (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX container_estimated_delivery_at ON containers.container (organization_id, estimated_delivery_at, id) WHERE deleted_at IS NULL;
CREATE INDEX container_estimated_delivery_at_down ON containers.container (organization_id, estimated_delivery_at DESC NULLS LAST, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX container_number_down ON containers.container (organization_id, lower(tracking_number) COLLATE "C" DESC NULLS LAST, id DESC) WHERE deleted_at IS NULL;
CREATE STATISTICS containers.container_numbers ON lower(tracking_number) FROM containers.container;
CREATE INDEX container_number_order ON containers.container (organization_id, lower(tracking_number) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX container_status_order ON containers.container (organization_id, lower(status) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX container_status ON containers.container (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX container_location ON containers.container (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX container_layout ON containers.container (organization_id, layout_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX container_filters ON containers.container USING gin (filters);
CREATE INDEX container_metadata ON containers.container USING gin (metadata jsonb_path_ops);
-- Searches fold accents, as those of other lists.
CREATE INDEX container_found_by_number ON containers.container USING gin (wharf.fold(tracking_number) public.gin_trgm_ops);
CREATE INDEX container_found_by_name ON containers.container USING gin (wharf.fold(name) public.gin_trgm_ops);
CREATE INDEX container_found_by_metadata ON containers.container USING gin (wharf.fold(metadata_text) public.gin_trgm_ops);
CREATE INDEX container_number ON containers.container (organization_id, lower(tracking_number) COLLATE "C", created_at, id) WHERE deleted_at IS NULL;

-- As shipments.tracking_update.
CREATE TABLE containers.tracking_update (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    owner_id text COLLATE "C" NOT NULL,
    status text COLLATE "C",
    comment text,
    occurred_at timestamptz(3) NOT NULL,
    location_id text COLLATE "C",
    layout_id text COLLATE "C",
    user_id text COLLATE "C",
    vehicle_id text COLLATE "C",
    address jsonb,
    coordinates jsonb,
    images jsonb NOT NULL DEFAULT '[]',
    source text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    created_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX tracking_update_history ON containers.tracking_update (organization_id, owner_id, occurred_at, position);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['containers.container', 'containers.tracking_update']) AS t;
