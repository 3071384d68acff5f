-- wharf: phase=expand

-- Units of measure, items, their stock (spec 09 sections 3 to 9).
CREATE TABLE items.uom (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    code text COLLATE "C" NOT NULL,
    name text NOT NULL,
    uom_category text COLLATE "C" NOT NULL,
    factor numeric(24, 14),
    unece_code text COLLATE "C",
    is_system boolean NOT NULL DEFAULT false,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX uom_code ON items.uom (organization_id, code) WHERE deleted_at IS NULL;
CREATE INDEX uom_code_order ON items.uom (organization_id, code, id) WHERE deleted_at IS NULL;
CREATE INDEX uom_name ON items.uom (organization_id, lower(name) COLLATE "C", id) WHERE deleted_at IS NULL;

-- codes: what a scanner may read of the item. stock_changes and threshold_changes count writes of
-- its levels and thresholds, which have tables of their own.
CREATE TABLE items.item (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    item_type text COLLATE "C" NOT NULL,
    base_uom text COLLATE "C" NOT NULL,
    uom_category text COLLATE "C" NOT NULL,
    item_transactional_unit_id text COLLATE "C",
    transactional_units jsonb NOT NULL DEFAULT '[]',
    is_asset boolean NOT NULL DEFAULT false,
    lot_tracking text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    sku text,
    gtin text COLLATE "C",
    upc text COLLATE "C",
    external_id text COLLATE "C",
    description text,
    color text,
    size text,
    vendor text,
    origin_country text COLLATE "C",
    harmonized_code text COLLATE "C",
    value bigint,
    currency text COLLATE "C",
    length numeric(15, 4),
    width numeric(15, 4),
    height numeric(15, 4),
    weight numeric(15, 4),
    packaged_length numeric(15, 4),
    packaged_width numeric(15, 4),
    packaged_height numeric(15, 4),
    packaged_weight numeric(15, 4),
    attributes jsonb NOT NULL DEFAULT '[]',
    images jsonb NOT NULL DEFAULT '[]',
    metadata jsonb NOT NULL DEFAULT '{}',
    last_audited_at timestamptz(3),
    archived_at timestamptz(3),
    codes jsonb GENERATED ALWAYS AS (items.codes_of(sku, gtin, upc, transactional_units)) STORED,
    stock_changes bigint NOT NULL DEFAULT 0,
    threshold_changes bigint NOT NULL DEFAULT 0,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX item_sku ON items.item (organization_id, lower(sku)) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX item_external_id ON items.item (organization_id, external_id) WHERE deleted_at IS NULL;
CREATE INDEX item_created_at ON items.item (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_updated_at ON items.item (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_name ON items.item (organization_id, lower(name) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX item_sku_order ON items.item (organization_id, lower(sku) COLLATE "C", id) WHERE deleted_at IS NULL;
CREATE INDEX item_sku_down ON items.item (organization_id, lower(sku) COLLATE "C" DESC NULLS LAST, id DESC) WHERE deleted_at IS NULL;
CREATE STATISTICS items.item_skus ON lower(sku) FROM items.item;
CREATE INDEX item_gtin ON items.item (organization_id, gtin, created_at, id) WHERE deleted_at IS NULL AND gtin IS NOT NULL;
CREATE INDEX item_upc ON items.item (organization_id, upc, created_at, id) WHERE deleted_at IS NULL AND upc IS NOT NULL;
CREATE INDEX item_harmonized_code ON items.item (organization_id, harmonized_code, created_at, id) WHERE deleted_at IS NULL AND harmonized_code IS NOT NULL;
CREATE INDEX item_base_uom ON items.item (organization_id, base_uom, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_uom_category ON items.item (organization_id, uom_category, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_type ON items.item (organization_id, item_type, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_status ON items.item (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_asset ON items.item (organization_id, created_at, id) WHERE deleted_at IS NULL AND is_asset;
CREATE INDEX item_codes ON items.item USING gin (codes jsonb_path_ops);
CREATE INDEX item_metadata ON items.item USING gin (metadata jsonb_path_ops);
CREATE INDEX item_search_name ON items.item USING gin (wharf.fold(name) public.gin_trgm_ops);
CREATE INDEX item_search_sku ON items.item USING gin (wharf.fold(sku) public.gin_trgm_ops);
CREATE INDEX item_search_gtin ON items.item USING gin (wharf.fold(gtin) public.gin_trgm_ops);
CREATE INDEX item_search_upc ON items.item USING gin (wharf.fold(upc) public.gin_trgm_ops);
CREATE INDEX item_search_external_id ON items.item USING gin (wharf.fold(external_id) public.gin_trgm_ops);
CREATE INDEX item_search_description ON items.item USING gin (wharf.fold(description) public.gin_trgm_ops);

CREATE TABLE items.lot (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    lot_number text COLLATE "C" NOT NULL,
    expires_at timestamptz(3),
    manufactured_at timestamptz(3),
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX lot_number ON items.lot (organization_id, item_id, lot_number);
CREATE INDEX lot_created_at ON items.lot (organization_id, item_id, created_at, id) WHERE deleted_at IS NULL;

-- One row for each item, location, layout and lot that ever had stock. moves counts its rows of the
-- ledger, moved_at is the moment of the last one: moments of one level never go back. Rows are
-- changed in place (no index on what changes), which leaves room for it.
CREATE TABLE items.level (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    layout_id text COLLATE "C" NOT NULL,
    lot_id text COLLATE "C",
    lot_number text COLLATE "C",
    available numeric(15, 4) NOT NULL DEFAULT 0 CHECK (available >= 0),
    reserved numeric(15, 4) NOT NULL DEFAULT 0 CHECK (reserved >= 0),
    damaged numeric(15, 4) NOT NULL DEFAULT 0 CHECK (damaged >= 0),
    manifested numeric(15, 4) NOT NULL DEFAULT 0 CHECK (manifested >= 0),
    moves bigint NOT NULL DEFAULT 0,
    moved_at timestamptz(3) NOT NULL,
    last_audited_at timestamptz(3),
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX level_place ON items.level (organization_id, item_id, location_id, layout_id, lot_id) NULLS NOT DISTINCT;
CREATE INDEX level_location ON items.level (organization_id, location_id, item_id);
CREATE INDEX level_layout ON items.level (organization_id, layout_id, item_id);
CREATE INDEX level_lot ON items.level (organization_id, lot_id) WHERE lot_id IS NOT NULL;

-- The ledger: rows are added, never changed. position counts the rows of a level.
CREATE TABLE items.stock_movement (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    level_id text COLLATE "C" NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    layout_id text COLLATE "C" NOT NULL,
    lot_id text COLLATE "C",
    lot_number text COLLATE "C",
    bucket text COLLATE "C" NOT NULL,
    delta numeric(15, 4) NOT NULL CHECK (delta <> 0),
    balance_after numeric(15, 4) NOT NULL,
    reason text COLLATE "C" NOT NULL,
    source_type text COLLATE "C",
    source_id text COLLATE "C",
    group_id text COLLATE "C" NOT NULL,
    reason_code_id text COLLATE "C",
    note text,
    unit_id text COLLATE "C",
    unit_quantity numeric(15, 4),
    batch_id text COLLATE "C",
    position bigint NOT NULL,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX stock_movement_item ON items.stock_movement (organization_id, item_id, created_at, id);
CREATE INDEX stock_movement_level ON items.stock_movement (organization_id, level_id, bucket, created_at, position);
CREATE INDEX stock_movement_group ON items.stock_movement (organization_id, group_id);

-- Below quantity the item is low at the location; low: it is, and that was told.
CREATE TABLE items.threshold (
    organization_id text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    quantity numeric(15, 4) NOT NULL CHECK (quantity > 0),
    low boolean NOT NULL DEFAULT false,
    PRIMARY KEY (organization_id, item_id, location_id)
);
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['items.uom', 'items.item', 'items.lot', 'items.level', 'items.stock_movement',
    'items.threshold']) AS t;
