-- wharf: phase=expand
-- Contacts with a word in their names that is like the pattern: for two letters, which no trigram index knows. There are far fewer words
-- than contacts, and what is frequent is found at once.
CREATE FUNCTION contacts.named(pattern text, most integer) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    RETURN QUERY EXECUTE 'SELECT k.contact_id FROM contacts.word w CROSS JOIN LATERAL (SELECT t.contact_id FROM contacts.token t'
        ' WHERE t.organization_id = w.organization_id AND t.token = w.token LIMIT $3) k WHERE w.organization_id = $1 AND w.token LIKE $2 LIMIT $3'
        USING current_setting('wharf.organization', true), pattern, most;
END
$$;
