-- wharf: phase=expand
CREATE TABLE importer.pallet (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    code text,
    location_id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    weight numeric(15, 4),
    count bigint NOT NULL,
    fragile boolean NOT NULL,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX pallet_created ON importer.pallet (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX pallet_location ON importer.pallet (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX pallet_name ON importer.pallet USING gin (lower(name) gin_trgm_ops);
SELECT wharf.protect_table('importer.pallet');
