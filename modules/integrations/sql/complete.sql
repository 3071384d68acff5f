-- Attempts that are over. given: [{o: organization, i: id, st: status, n: wait in ms when it is
-- pending, c: counts as a retry, rq, rs, er: request, response and error, ms: duration}]. What
-- somebody else has taken since is left to him. Returns those that ended in an error.
CREATE OR REPLACE FUNCTION integrations.complete(its_server text, given json)
    RETURNS TABLE (organization_id text, id text) LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
    at timestamptz(3) := wharf.now();
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    RETURN QUERY
        WITH x AS MATERIALIZED (
            SELECT y.*, w.created_at, w.integration_id, w.attempts
                FROM json_to_recordset(given) AS y(o text, i text, st text, n bigint, c boolean,
                rq jsonb, rs jsonb, er jsonb, ms bigint)
            JOIN integrations.waiting w ON w.organization_id = y.o AND w.id = y.i
                AND w.server = its_server
            ORDER BY y.o, y.i FOR UPDATE OF w
        ), logged AS (
            UPDATE integrations.outgoing g
                SET status = x.st, request = COALESCE(x.rq, g.request), response = x.rs,
                error = x.er,
                attempts = x.attempts, duration_ms = x.ms, updated_at = at,
                next_attempt_at =
                CASE WHEN x.st = 'pending' THEN at + x.n * interval '1 millisecond' END
            FROM x WHERE g.organization_id = x.o AND g.created_at = x.created_at AND g.id = x.i
        ), later AS (
            UPDATE integrations.waiting w
                SET server = NULL, next_attempt_at = at + x.n * interval '1 millisecond',
                retries = w.retries + x.c::integer
            FROM x WHERE x.st = 'pending' AND w.organization_id = x.o AND w.id = x.i
        ), gone AS (
            DELETE FROM integrations.waiting w USING x
                WHERE x.st <> 'pending' AND w.organization_id = x.o AND w.id = x.i
        ), failed AS (
            INSERT INTO integrations.failure (organization_id, kind, at, id) SELECT x.o,
                'outgoing_integration', at, x.i FROM x WHERE x.st = 'error'
        ), states AS (
            UPDATE integrations.integration k SET failing = s.bad FROM (
                SELECT x.o, x.integration_id AS i, bool_or(x.st = 'error') AS bad FROM x
                    WHERE x.st IN ('success', 'error') GROUP BY 1, 2 ORDER BY 1, 2) s
            WHERE k.organization_id = s.o AND k.id = s.i AND k.failing <> s.bad
        )
        SELECT x.o, x.i FROM x WHERE x.st = 'error';
END
$$;
