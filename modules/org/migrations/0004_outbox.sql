-- wharf: phase=expand
-- What a test organization would have sent (spec 01 section 5 'Test mode'): kept for 30 days, to be looked at.
CREATE TABLE org.outbox (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('mail', 'push')),
    recipients jsonb NOT NULL DEFAULT '[]',
    subject text,
    text text,
    html text,
    reply_to text,
    files jsonb NOT NULL DEFAULT '[]',
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX outbox_created_at ON org.outbox (created_at);
SELECT wharf.protect_table('org.outbox');

-- Returns how many of at most `most`.
CREATE FUNCTION org.purge_outbox(most integer) RETURNS integer LANGUAGE sql AS $$
    WITH over AS (DELETE FROM org.outbox WHERE (organization_id, id) IN (
        SELECT organization_id, id FROM org.outbox WHERE created_at < wharf.now() - interval '30 days' LIMIT most) RETURNING 1)
    SELECT count(*)::integer FROM over
$$;
