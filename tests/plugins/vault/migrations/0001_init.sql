-- wharf: phase=expand
CREATE TABLE vault.vault (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    token text,
    hint text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX vault_created ON vault.vault (organization_id, created_at, id) WHERE deleted_at IS NULL;
SELECT wharf.protect_table('vault.vault');

CREATE TABLE vault.drawer (LIKE vault.vault INCLUDING ALL);
ALTER TABLE vault.drawer DROP COLUMN hint;
SELECT wharf.protect_table('vault.drawer');
