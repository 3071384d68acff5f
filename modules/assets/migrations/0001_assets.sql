-- wharf: phase=expand

-- Assets (spec 02 section 9). name and sku are those of the item: lists sort by the one and search
-- both. A delete sets archived_at; deleted_at is never set.
CREATE TABLE assets.asset (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    sku text,
    location_id text COLLATE "C" NOT NULL,
    layout_id text COLLATE "C",
    serial_number text NOT NULL,
    status text COLLATE "C" NOT NULL,
    assignee_id text COLLATE "C",
    due_back_at timestamptz(3),
    notes text,
    barcode text,
    category text,
    sub_category text,
    value numeric(15, 4),
    initial_value numeric(15, 4),
    currency text COLLATE "C" NOT NULL,
    purchased_at timestamptz(3),
    warranty_expires_at timestamptz(3),
    maintenance_schedule text COLLATE "C",
    next_maintenance_at timestamptz(3),
    maintenance_status text COLLATE "C" NOT NULL,
    disposed_at timestamptz(3),
    disposal_reason_code_id text COLLATE "C",
    disposal_comment text,
    manifest_id text COLLATE "C",
    images jsonb NOT NULL DEFAULT '[]',
    metadata jsonb NOT NULL DEFAULT '{}',
    archived_at timestamptz(3),
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX asset_serial_number
    ON assets.asset (organization_id, item_id, lower(serial_number))
    WHERE deleted_at IS NULL AND archived_at IS NULL;
CREATE INDEX asset_created_at
    ON assets.asset (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX asset_updated_at
    ON assets.asset (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX asset_name
    ON assets.asset (organization_id, lower(name) COLLATE "C", id) WHERE deleted_at IS NULL;
-- The planner takes no statistics from an index in another collation.
CREATE STATISTICS assets.asset_names ON lower(name) FROM assets.asset;
CREATE STATISTICS assets.asset_serial_numbers ON lower(serial_number) FROM assets.asset;
CREATE INDEX asset_serial_order
    ON assets.asset (organization_id, lower(serial_number) COLLATE "C", id)
    WHERE deleted_at IS NULL;
CREATE INDEX asset_value ON assets.asset (organization_id, value, id) WHERE deleted_at IS NULL;
CREATE INDEX asset_due_back_at
    ON assets.asset (organization_id, due_back_at, id) WHERE deleted_at IS NULL;
CREATE INDEX asset_value_down
    ON assets.asset (organization_id, value DESC NULLS LAST, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX asset_due_back_at_down
    ON assets.asset (organization_id, due_back_at DESC NULLS LAST, id DESC)
    WHERE deleted_at IS NULL;
CREATE INDEX asset_item
    ON assets.asset (organization_id, item_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX asset_location
    ON assets.asset (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX asset_layout
    ON assets.asset (organization_id, layout_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX asset_status
    ON assets.asset (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX asset_assignee
    ON assets.asset (organization_id, assignee_id, created_at, id)
    WHERE deleted_at IS NULL AND assignee_id IS NOT NULL;
CREATE INDEX asset_manifest
    ON assets.asset (organization_id, manifest_id, created_at, id)
    WHERE deleted_at IS NULL AND manifest_id IS NOT NULL;
CREATE INDEX asset_barcode
    ON assets.asset (organization_id, lower(barcode), created_at, id)
    WHERE deleted_at IS NULL AND barcode IS NOT NULL;
CREATE INDEX asset_category
    ON assets.asset (organization_id, lower(category), created_at, id)
    WHERE deleted_at IS NULL AND category IS NOT NULL;
CREATE INDEX asset_warranty
    ON assets.asset (organization_id, warranty_expires_at, id)
    WHERE deleted_at IS NULL AND warranty_expires_at IS NOT NULL;
CREATE INDEX asset_maintenance
    ON assets.asset (organization_id, next_maintenance_at, id)
    WHERE deleted_at IS NULL AND next_maintenance_at IS NOT NULL;
CREATE INDEX asset_archived
    ON assets.asset (organization_id, created_at, id)
    WHERE deleted_at IS NULL AND archived_at IS NOT NULL;
CREATE INDEX asset_metadata ON assets.asset USING gin (metadata jsonb_path_ops);
CREATE INDEX asset_search_serial_number
    ON assets.asset USING gin (wharf.fold(serial_number) public.gin_trgm_ops);
CREATE INDEX asset_search_barcode
    ON assets.asset USING gin (wharf.fold(barcode) public.gin_trgm_ops);
CREATE INDEX asset_search_name ON assets.asset USING gin (wharf.fold(name) public.gin_trgm_ops);
CREATE INDEX asset_search_sku ON assets.asset USING gin (wharf.fold(sku) public.gin_trgm_ops);
CREATE INDEX asset_search_category
    ON assets.asset USING gin (wharf.fold(category) public.gin_trgm_ops);
SELECT wharf.protect_table('assets.asset');

-- Sequences of serial numbers: counter is the next one.
CREATE TABLE assets.sequence (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    prefix text COLLATE "C" NOT NULL,
    sequence text COLLATE "C" NOT NULL,
    counter text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX sequence_start
    ON assets.sequence (organization_id, prefix, sequence) WHERE deleted_at IS NULL;
CREATE INDEX sequence_created_at
    ON assets.sequence (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX sequence_updated_at
    ON assets.sequence (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX sequence_prefix
    ON assets.sequence (organization_id, lower(prefix) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE STATISTICS assets.sequence_prefixes ON lower(prefix) FROM assets.sequence;
SELECT wharf.protect_table('assets.sequence');
