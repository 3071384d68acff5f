-- wharf: phase=expand
CREATE TABLE retiring.relic (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    nickname text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX relic_created ON retiring.relic (organization_id, created_at, id) WHERE deleted_at IS NULL;
SELECT wharf.protect_table('retiring.relic');

