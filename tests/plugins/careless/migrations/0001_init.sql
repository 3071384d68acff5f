-- wharf: phase=expand
CREATE TABLE careless.mistake (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text,
    size bigint,
    kind text,
    tags jsonb NOT NULL DEFAULT '[]',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX mistake_created ON careless.mistake (organization_id, created_at, id) WHERE deleted_at IS NULL;
SELECT wharf.protect_table('careless.mistake');
