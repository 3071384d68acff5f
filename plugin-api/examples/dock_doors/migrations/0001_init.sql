-- wharf: phase=expand
CREATE TABLE dock_doors.door (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    location_id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    open_appointments bigint NOT NULL,
    height_m numeric(6, 2),
    notes text,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX door_name ON dock_doors.door (organization_id, location_id, lower(name)) WHERE deleted_at IS NULL;
CREATE INDEX door_created ON dock_doors.door (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX door_location ON dock_doors.door (organization_id, location_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX door_metadata ON dock_doors.door USING gin (metadata jsonb_path_ops);
SELECT wharf.protect_table('dock_doors.door');
