-- wharf: phase=expand

-- Reason codes (spec 03 section 7).
CREATE TABLE reasons.reason_code (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    code text NOT NULL,
    name text NOT NULL,
    description text,
    resources jsonb NOT NULL DEFAULT '[]',
    active boolean NOT NULL DEFAULT true,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX reason_code_code ON reasons.reason_code (organization_id, lower(code)) WHERE deleted_at IS NULL;
CREATE INDEX reason_code_created ON reasons.reason_code (organization_id, created_at, id) WHERE deleted_at IS NULL;
SELECT wharf.protect_table('reasons.reason_code');
