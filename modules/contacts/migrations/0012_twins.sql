-- wharf: phase=expand
-- Who learns a word does not wait for others that learn it at the same moment (several workers of one batch do all the time): the word is there
-- twice then. twin: the database process that learned it, so that two at a time never meet.

ALTER TABLE contacts.word ADD COLUMN twin integer NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX word_by_token ON contacts.word (organization_id, token, twin);
ALTER TABLE contacts.word DROP CONSTRAINT word_pkey;
ALTER TABLE contacts.word ADD CONSTRAINT word_pkey PRIMARY KEY USING INDEX word_by_token;

CREATE OR REPLACE FUNCTION contacts.named(pattern text, most integer) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY EXECUTE 'SELECT k.contact_id FROM (SELECT DISTINCT w.token FROM contacts.word w WHERE w.organization_id = $1 AND w.token LIKE $2) w'
        ' CROSS JOIN LATERAL (SELECT t.contact_id FROM contacts.token t WHERE t.organization_id = $1 AND t.token = w.token LIMIT $3) k LIMIT $3'
        USING current_setting('wharf.organization', true), pattern, most;
END
$$;
