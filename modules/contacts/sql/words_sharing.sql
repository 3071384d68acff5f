-- Returns words that share one of these hashes. Row-level security keeps && of a plugin's
-- statement from the index; this looks for itself, into the organization of the transaction.
-- Always by the index of hashes: of fifty of them the planner expects so many words that it
-- would read all.
CREATE OR REPLACE FUNCTION contacts.words_sharing(hashes integer[]) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog
        SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY SELECT w.token FROM contacts.word w WHERE w.deletions && hashes
        AND w.organization_id || '' = current_setting('wharf.organization', true);
END
$$;
