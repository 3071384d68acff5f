-- Deletes up to `most` keys that expired or were revoked 30 days ago, and returns how many. From
-- then on they are unknown.
CREATE OR REPLACE FUNCTION wharf.purge_keys(most integer) RETURNS integer LANGUAGE sql AS $$
    WITH over AS (
        DELETE FROM wharf.api_key WHERE (organization_id, id) IN (
            SELECT organization_id, id FROM wharf.api_key
            WHERE LEAST(expires_at, revoked_at) < wharf.now() - interval '30 days' LIMIT most
                FOR UPDATE SKIP LOCKED)
        RETURNING organization_id, id),
    tokens AS (DELETE FROM wharf.token AS t USING over
        WHERE t.kind = 'api_key' AND t.organization_id = over.organization_id AND t.id = over.id),
    places AS (DELETE FROM wharf.principal_location AS l USING over
        WHERE l.organization_id = over.organization_id AND l.principal_type = 'api_key'
            AND l.principal_id = over.id)
    SELECT count(*)::integer FROM over
$$;
