-- wharf: phase=expand

-- Exports: what was asked for, how far it is, and its files in the blob store (spec 01 section 15).
CREATE TABLE exports.export (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    resource text COLLATE "C" NOT NULL,
    options jsonb NOT NULL,
    formats jsonb NOT NULL,
    csv_field_options jsonb,
    chosen_columns jsonb, -- in their order, which jsonb objects do not keep
    state text COLLATE "C" NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'processing', 'completed', 'failed', 'canceled')),
    total_rows bigint,
    exported_rows bigint NOT NULL DEFAULT 0,
    error_rows bigint NOT NULL DEFAULT 0,
    sanitized_rows bigint NOT NULL DEFAULT 0,
    progress bigint NOT NULL DEFAULT 0,
    error jsonb,
    runs integer NOT NULL DEFAULT 0, -- how often a worker has begun
    key_id text COLLATE "C", -- with whose rights it is made
    csv_file text COLLATE "C",
    json_file text COLLATE "C",
    csv_error_file text COLLATE "C",
    csv_sanitized_file text COLLATE "C",
    started_at timestamptz(3),
    finished_at timestamptz(3),
    expires_at timestamptz(3),
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX export_created ON exports.export (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX export_over ON exports.export (expires_at) WHERE expires_at IS NOT NULL;
SELECT wharf.protect_table('exports.export');
