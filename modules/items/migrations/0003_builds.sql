-- wharf: phase=expand

-- Assembly orders (spec 09 sections 12 and 13): what was built and taken apart. A row changes only
-- when a linked order takes some of it apart.
CREATE TABLE items.assembly_order (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    number text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL DEFAULT 'completed',
    item_id text COLLATE "C" NOT NULL,
    bom_id text COLLATE "C" NOT NULL,
    bom_version integer NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    quantity numeric(15, 4) NOT NULL CHECK (quantity > 0),
    unit_id text COLLATE "C",
    unit_quantity numeric(15, 4),
    layout_id text COLLATE "C",
    lot_number text COLLATE "C",
    assembly_picks jsonb NOT NULL DEFAULT '[]',
    unbuilt_qty numeric(15, 4) NOT NULL DEFAULT 0 CHECK (unbuilt_qty >= 0 AND unbuilt_qty <= quantity),
    reversal text COLLATE "C" NOT NULL DEFAULT 'none',
    build_order_id text COLLATE "C",
    parent_order_id text COLLATE "C",
    group_id text COLLATE "C" NOT NULL,
    note text,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX assembly_order_item ON items.assembly_order (organization_id, item_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX assembly_order_bom ON items.assembly_order (organization_id, bom_id, bom_version);
CREATE INDEX assembly_order_build ON items.assembly_order (organization_id, build_order_id) WHERE build_order_id IS NOT NULL;
CREATE INDEX assembly_order_parent ON items.assembly_order (organization_id, parent_order_id) WHERE parent_order_id IS NOT NULL;

-- picks: [{layout_id, lot_id, lot_number, quantity}], in the order in which they were taken.
CREATE TABLE items.assembly_order_line (
    organization_id text COLLATE "C" NOT NULL,
    order_id text COLLATE "C" NOT NULL,
    place integer NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    required numeric(15, 4) NOT NULL CHECK (required > 0),
    picks jsonb NOT NULL,
    PRIMARY KEY (organization_id, order_id, place)
);
CREATE INDEX assembly_order_line_item ON items.assembly_order_line (organization_id, item_id);

-- The numbers of assembly orders. It is the last row that a build locks.
CREATE TABLE items.assembly_number (
    organization_id text COLLATE "C" NOT NULL,
    last bigint NOT NULL,
    PRIMARY KEY (organization_id)
);
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['items.assembly_order', 'items.assembly_order_line', 'items.assembly_number']) AS t;
