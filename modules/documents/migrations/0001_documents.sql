-- wharf: phase=expand

-- Documents (spec 05 section 1). size, checksums, mime_type, pages, width, height and file_id are
-- those of the current version; while the first one is awaited, what was announced.
CREATE TABLE documents.document (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    filename text NOT NULL,
    visibility text COLLATE "C" NOT NULL,
    category text,
    mime_type text COLLATE "C" NOT NULL,
    size bigint,
    checksum_md5 text COLLATE "C",
    checksum_sha256 text COLLATE "C",
    metadata jsonb NOT NULL DEFAULT '{}',
    metadata_text text,
    notes text,
    legal_hold boolean NOT NULL DEFAULT false,
    status text COLLATE "C" NOT NULL,
    failure_reason text COLLATE "C",
    number integer NOT NULL DEFAULT 1,
    versions_count integer NOT NULL DEFAULT 0,
    pages integer,
    width numeric(15, 4),
    height numeric(15, 4),
    file_id text COLLATE "C",
    upload_id text COLLATE "C",
    upload_expires_at timestamptz(3),
    requested_at timestamptz(3),
    links_changes integer NOT NULL DEFAULT 0,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX document_created_at
    ON documents.document (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX document_updated_at
    ON documents.document (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX document_name
    ON documents.document (organization_id, lower(name) COLLATE "C", id) WHERE deleted_at IS NULL;
-- The planner takes no statistics from an index in another collation.
CREATE STATISTICS documents.document_names ON lower(name) FROM documents.document;
CREATE INDEX document_size
    ON documents.document (organization_id, size, id) WHERE deleted_at IS NULL;
CREATE INDEX document_size_down
    ON documents.document (organization_id, size DESC NULLS LAST, id DESC)
    WHERE deleted_at IS NULL;
CREATE INDEX document_visibility
    ON documents.document (organization_id, visibility, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX document_category
    ON documents.document (organization_id, lower(category), created_at, id)
    WHERE deleted_at IS NULL AND category IS NOT NULL;
CREATE INDEX document_mime_type
    ON documents.document (organization_id, lower(mime_type), created_at, id)
    WHERE deleted_at IS NULL;
CREATE INDEX document_status
    ON documents.document (organization_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX document_checksum
    ON documents.document (organization_id, lower(checksum_sha256), created_at, id)
    WHERE deleted_at IS NULL AND checksum_sha256 IS NOT NULL;
CREATE INDEX document_created_by
    ON documents.document (organization_id, created_by, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX document_updated_by
    ON documents.document (organization_id, updated_by, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX document_upload
    ON documents.document (organization_id, upload_id)
    WHERE deleted_at IS NULL AND upload_id IS NOT NULL;
CREATE INDEX document_requested
    ON documents.document (requested_at)
    WHERE deleted_at IS NULL AND status IN ('requested', 'expired');
CREATE INDEX document_removed
    ON documents.document (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX document_legal_hold
    ON documents.document (organization_id, created_at, id) WHERE deleted_at IS NULL AND legal_hold;
CREATE INDEX document_retention
    ON documents.document (organization_id,
        ((CASE WHEN category IS NULL THEN '' ELSE category END) COLLATE "C"), created_at)
    WHERE deleted_at IS NULL AND NOT legal_hold;
CREATE INDEX document_metadata ON documents.document USING gin (metadata jsonb_path_ops);
CREATE INDEX document_search_name
    ON documents.document USING gin (wharf.fold(name) public.gin_trgm_ops);
CREATE INDEX document_search_filename
    ON documents.document USING gin (wharf.fold(filename) public.gin_trgm_ops);
CREATE INDEX document_search_metadata
    ON documents.document USING gin (wharf.fold(metadata_text) public.gin_trgm_ops);
SELECT wharf.protect_table('documents.document');

-- Versions of documents: one row for each time that bytes were stored (spec 05 section 4).
CREATE TABLE documents.version (
    organization_id text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    file_id text COLLATE "C" NOT NULL,
    mime_type text COLLATE "C" NOT NULL,
    size bigint NOT NULL,
    checksum_md5 text COLLATE "C" NOT NULL,
    checksum_sha256 text COLLATE "C" NOT NULL,
    pages integer,
    width numeric(15, 4),
    height numeric(15, 4),
    created_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    PRIMARY KEY (organization_id, document_id, number)
);
CREATE INDEX version_file ON documents.version (organization_id, file_id);
SELECT wharf.protect_table('documents.version');

-- Links of documents with what they belong to (spec 05 section 5). The row of a resource is of
-- another module.
CREATE TABLE documents.link (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    resource_type text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX link_of_document
    ON documents.link (organization_id, document_id, resource_type, resource_id);
CREATE INDEX link_of_resource
    ON documents.link (organization_id, resource_id, resource_type, document_id);
CREATE INDEX link_created_at ON documents.link (organization_id, created_at, id);
SELECT wharf.protect_table('documents.link');

-- Rules that delete documents of a category after some days; without a category: those that no
-- other rule is about (spec 05 section 4.1). locations is always null: all of them.
CREATE TABLE documents.retention_rule (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    category text,
    delete_after_days integer NOT NULL,
    notes text,
    locations jsonb,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX retention_rule_category
    ON documents.retention_rule (organization_id, coalesce(category, ''))
    WHERE deleted_at IS NULL;
CREATE INDEX retention_rule_created_at
    ON documents.retention_rule (organization_id, created_at, id) WHERE deleted_at IS NULL;
SELECT wharf.protect_table('documents.retention_rule');
-- Pictures of pages of versions (spec 05 section 3.6), as they were made.
CREATE TABLE documents.preview (
    organization_id text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    page integer NOT NULL,
    width integer NOT NULL,
    file_id text COLLATE "C" NOT NULL,
    checksum_md5 text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, document_id, number, page, width)
);
SELECT wharf.protect_table('documents.preview');
