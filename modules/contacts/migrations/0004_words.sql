-- wharf: phase=expand
-- The words of a book in one row each. deletions: hashes (32 bits, FNV-1a) of the organization, a zero, and what is left of the word without one letter
-- (of long words: without two). A hundred rows of contacts.token_deletion became one, and its index takes them in bundles.

CREATE TABLE contacts.word (
    organization_id text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    deletions integer[] NOT NULL,
    PRIMARY KEY (organization_id, token)
);
CREATE INDEX word_deletions ON contacts.word USING gin (deletions) WITH (gin_pending_list_limit = 1024);
SELECT wharf.protect_table('contacts.word');

-- Words that share one of these hashes. Row-level security keeps && of a plugin's statement from the index; this looks for itself, into the
-- organization of the transaction. Always by the index of hashes: of fifty of them the planner expects so many words that it would read all.
CREATE FUNCTION contacts.words_sharing(hashes integer[]) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY SELECT w.token FROM contacts.word w WHERE w.deletions && hashes
        AND w.organization_id || '' = current_setting('wharf.organization', true);
END
$$;

-- What the book had learned so far: by processes of the version before this as well, so it is taken over again when these have gone (0005).
CREATE FUNCTION contacts.take_over_words() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    w record;
    d text;
    h bigint;
    bytes bytea;
    hashes integer[];
BEGIN
    FOR w IN SELECT t.organization_id, t.token, array_agg(t.deletion) AS deletions FROM contacts.token_deletion t
        WHERE NOT EXISTS (SELECT 1 FROM contacts.word k WHERE k.organization_id = t.organization_id AND k.token = t.token) GROUP BY 1, 2
    LOOP
        hashes := '{}';
        FOREACH d IN ARRAY w.deletions LOOP
            bytes := convert_to(w.organization_id, 'UTF8') || '\x00'::bytea || convert_to(d, 'UTF8');
            h := 2166136261;
            FOR i IN 0 .. length(bytes) - 1 LOOP
                h := ((h # get_byte(bytes, i)) * 16777619) & 4294967295;
            END LOOP;
            hashes := hashes || (h - 4294967296 * (h >> 31))::integer;
        END LOOP;
        INSERT INTO contacts.word VALUES (w.organization_id, w.token, hashes) ON CONFLICT DO NOTHING;
    END LOOP;
END
$$;
SELECT contacts.take_over_words();

-- Words of contacts by word only: which words a contact had, its names say.
CREATE UNIQUE INDEX token_by_word ON contacts.token (organization_id, token, contact_id) INCLUDE (weight);
ALTER TABLE contacts.token DROP CONSTRAINT token_pkey;
ALTER TABLE contacts.token ADD CONSTRAINT token_pkey PRIMARY KEY USING INDEX token_by_word;
DROP INDEX contacts.token_contact;
