-- wharf: phase=expand

-- Bills of materials (spec 09 section 10). bom_version counts the versions of the parts; the
-- column version, as in all tables, counts the writes of the row.
CREATE TABLE items.bom (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    description text,
    status text COLLATE "C" NOT NULL,
    is_default boolean NOT NULL DEFAULT false,
    output_qty numeric(15, 4) NOT NULL CHECK (output_qty > 0),
    min_build_qty numeric(15, 4) CHECK (min_build_qty > 0),
    bom_version integer NOT NULL DEFAULT 1,
    component_changes integer NOT NULL DEFAULT 0,
    has_build_history boolean NOT NULL DEFAULT false,
    deactivated_reason text COLLATE "C",
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX bom_name ON items.bom (organization_id, item_id, lower(name)) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX bom_default ON items.bom (organization_id, item_id) WHERE deleted_at IS NULL AND status = 'active' AND is_default;
CREATE INDEX bom_created_at ON items.bom (organization_id, item_id, created_at, id) WHERE deleted_at IS NULL;

-- A version is written once and never changed.
CREATE TABLE items.bom_version (
    organization_id text COLLATE "C" NOT NULL,
    bom_id text COLLATE "C" NOT NULL,
    bom_version integer NOT NULL,
    output_qty numeric(15, 4) NOT NULL,
    change_note text,
    created_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    PRIMARY KEY (organization_id, bom_id, bom_version)
);

-- factor: base units in one of the unit, when the version was written. position, reference and
-- notes of the newest version may change.
CREATE TABLE items.bom_component (
    organization_id text COLLATE "C" NOT NULL,
    bom_id text COLLATE "C" NOT NULL,
    bom_version integer NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    quantity numeric(15, 4) NOT NULL CHECK (quantity > 0),
    item_transactional_unit_id text COLLATE "C",
    factor numeric(20, 10) NOT NULL DEFAULT 1 CHECK (factor > 0),
    position integer NOT NULL,
    reference text,
    notes text,
    PRIMARY KEY (organization_id, bom_id, bom_version, item_id)
);
CREATE INDEX bom_component_item ON items.bom_component (organization_id, item_id);

-- The graph that must stay without circles: assembly and part, of the newest version of each active
-- bill.
CREATE TABLE items.bom_edge (
    organization_id text COLLATE "C" NOT NULL,
    assembly_id text COLLATE "C" NOT NULL,
    component_id text COLLATE "C" NOT NULL,
    bom_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (organization_id, assembly_id, component_id, bom_id)
);
CREATE INDEX bom_edge_component ON items.bom_edge (organization_id, component_id, assembly_id);
CREATE INDEX bom_edge_bom ON items.bom_edge (organization_id, bom_id);
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['items.bom', 'items.bom_version', 'items.bom_component', 'items.bom_edge']) AS t;
