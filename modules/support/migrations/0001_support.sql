-- wharf: phase=expand

-- Support requests, their messages, and what is known of their attachments; the bytes are files of
-- the blob store (spec 01 section 16).
CREATE TABLE support.request (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    subject text NOT NULL,
    message text NOT NULL,
    email text NOT NULL,
    category text COLLATE "C" NOT NULL DEFAULT 'question' CHECK (category IN ('question', 'bug', 'billing', 'feature', 'other')),
    priority text COLLATE "C" NOT NULL DEFAULT 'normal' CHECK (priority IN ('low', 'normal', 'high')),
    status text COLLATE "C" NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'in_progress', 'resolved', 'closed')),
    request_id text COLLATE "C",
    metadata jsonb NOT NULL DEFAULT '{}',
    revoke_links boolean NOT NULL DEFAULT false, -- never kept: rules act on it
    announced jsonb, -- the same
    parts bigint NOT NULL DEFAULT 0,
    mailed_at timestamptz(3),
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX request_created ON support.request (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX request_updated ON support.request (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX request_metadata ON support.request USING gin (metadata jsonb_path_ops);
CREATE INDEX request_search_subject ON support.request USING gin (lower(subject) public.gin_trgm_ops);
CREATE INDEX request_search_message ON support.request USING gin (lower(message) public.gin_trgm_ops);
CREATE INDEX request_search_email ON support.request USING gin (lower(email) public.gin_trgm_ops);

CREATE TABLE support.message (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    author_type text COLLATE "C" NOT NULL,
    author_id text COLLATE "C",
    author_email text,
    body text NOT NULL,
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX message_request ON support.message (organization_id, request_id, id);

CREATE TABLE support.attachment (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    message_id text COLLATE "C", -- the one it came with
    file_id text COLLATE "C" NOT NULL,
    position integer NOT NULL,
    name text NOT NULL,
    mime_type text COLLATE "C" NOT NULL,
    size bigint NOT NULL,
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX attachment_request ON support.attachment (organization_id, request_id, created_at, position);
CREATE INDEX attachment_file ON support.attachment (organization_id, file_id);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['support.request', 'support.message', 'support.attachment']) AS t;
