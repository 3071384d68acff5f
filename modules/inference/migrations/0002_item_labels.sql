-- wharf: phase=expand

-- Readings of item labels (docs/spec/06-inference.md section 11). image_file: the picture as it
-- came; search_text: what searches look at.
CREATE TABLE inference.item_label (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    errors jsonb NOT NULL DEFAULT '[]',
    raw_text text NOT NULL DEFAULT '',
    barcodes jsonb NOT NULL DEFAULT '[]',
    item_name text,
    item_numbers jsonb NOT NULL DEFAULT '[]',
    purchase_orders jsonb NOT NULL DEFAULT '[]',
    carton_number text,
    lot_number text,
    serial_number text,
    gtin text,
    sku text,
    quantity numeric(15,4),
    weight jsonb,
    dimensions jsonb,
    production_date text COLLATE "C",
    expiry_date text COLLATE "C",
    sscc text,
    supplier jsonb,
    location_id text COLLATE "C",
    metadata jsonb NOT NULL DEFAULT '{}',
    engine jsonb,
    image_file text COLLATE "C",
    search_text text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX item_label_created_at
    ON inference.item_label (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_label_updated_at
    ON inference.item_label (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_label_status
    ON inference.item_label (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX item_label_location_id
    ON inference.item_label (organization_id, location_id, created_at, id)
    WHERE deleted_at IS NULL;
CREATE INDEX item_label_carton_number
    ON inference.item_label (organization_id, lower(carton_number), created_at, id)
    WHERE deleted_at IS NULL AND carton_number IS NOT NULL;
CREATE INDEX item_label_lot_number
    ON inference.item_label (organization_id, lower(lot_number), created_at, id)
    WHERE deleted_at IS NULL AND lot_number IS NOT NULL;
CREATE INDEX item_label_gtin
    ON inference.item_label (organization_id, lower(gtin), created_at, id)
    WHERE deleted_at IS NULL AND gtin IS NOT NULL;
CREATE INDEX item_label_sku
    ON inference.item_label (organization_id, lower(sku), created_at, id)
    WHERE deleted_at IS NULL AND sku IS NOT NULL;
CREATE INDEX item_label_contained
    ON inference.item_label
    USING gin (errors, item_numbers, purchase_orders, metadata jsonb_path_ops);
CREATE INDEX item_label_search_text
    ON inference.item_label USING gin (wharf.fold(search_text) public.gin_trgm_ops);
SELECT wharf.protect_table('inference.item_label');
