-- wharf: phase=expand
-- Secrets of workflows: of the workflow, not of a version (docs/spec/08-workflows-and-lua.md section 1). Values are sealed.

CREATE TABLE workflows.secret (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX secret_key ON workflows.secret (organization_id, workflow_id, key) WHERE deleted_at IS NULL;
CREATE INDEX secret_created ON workflows.secret (organization_id, created_at, id) WHERE deleted_at IS NULL;

SELECT wharf.protect_table('workflows.secret');
