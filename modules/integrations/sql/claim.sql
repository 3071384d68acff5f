-- Takes what is due: of each integration that has something at most as much as brings it to `each`
-- requests at a time, `room` in all. run_id: the run that was started for it before.
DROP FUNCTION IF EXISTS integrations.claim(text, integer, integer);
CREATE OR REPLACE FUNCTION integrations.claim(its_server text, room integer, each integer)
    RETURNS TABLE (organization_id text, id text,
    integration_id text, event_id text, attempts integer, retries integer, url text, method text,
    sealed_headers text, usable boolean, workflow_id text, run_id text, name text, provider text,
    owner_key text, location_ids jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
    at timestamptz(3) := wharf.now();
    its_integration text;
    free integer;
    got integer;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR its_integration IN
        -- A skip scan: each integration with something to do is one look into the index.
        WITH RECURSIVE list AS (
            (SELECT w.integration_id || '' AS i FROM integrations.waiting w
                ORDER BY w.integration_id || '' LIMIT 1)
            UNION ALL
            SELECT (SELECT w.integration_id || '' FROM integrations.waiting w
                WHERE w.integration_id || '' > list.i
                ORDER BY w.integration_id || '' LIMIT 1)
            FROM list WHERE list.i IS NOT NULL)
        SELECT list.i FROM list WHERE list.i IS NOT NULL ORDER BY random()
    LOOP
        EXIT WHEN room <= 0;
        SELECT LEAST(room, each - count(*)) INTO free FROM integrations.waiting w
            WHERE w.integration_id || ' runs' = its_integration || ' runs' AND w.server IS NOT NULL
                AND w.next_attempt_at > at;
        CONTINUE WHEN free <= 0;
        RETURN QUERY
            WITH due AS MATERIALIZED (
                SELECT w.organization_id, w.id FROM integrations.waiting w
                WHERE w.integration_id || '' = its_integration AND w.next_attempt_at <= at
                ORDER BY w.next_attempt_at LIMIT free FOR UPDATE SKIP LOCKED
            ), taken AS (
                UPDATE integrations.waiting w
                    SET server = its_server, attempts = w.attempts + 1,
                    next_attempt_at = at + interval '60 seconds'
                FROM due WHERE w.organization_id = due.organization_id AND w.id = due.id
                RETURNING w.*
            )
            SELECT t.organization_id, t.id, t.integration_id, t.event_id, t.attempts, t.retries,
                i.url, i.method, i.sealed_headers,
                i.enabled AND i.deleted_at IS NULL, i.workflow_id, o.run_id, i.name, i.provider,
                i.owner_key, i.location_ids
            FROM taken t JOIN integrations.integration i ON i.organization_id = t.organization_id
                AND i.id = t.integration_id
            JOIN integrations.outgoing o ON o.organization_id = t.organization_id
                AND o.created_at = t.created_at AND o.id = t.id;
        GET DIAGNOSTICS got = ROW_COUNT;
        room := room - got;
    END LOOP;
END
$$;
