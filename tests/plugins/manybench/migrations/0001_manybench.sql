-- wharf: phase=expand
CREATE TABLE manybench.stamp (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX stamp_created_at ON manybench.stamp (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX stamp_updated_at ON manybench.stamp (organization_id, updated_at, id) WHERE deleted_at IS NULL;
SELECT wharf.protect_table('manybench.stamp'::regclass);
