-- Deletes rows whose files are gone for 30 days, and returns how many.
CREATE OR REPLACE FUNCTION exports.forget(most integer) RETURNS bigint LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog AS $$
    WITH gone AS (
        DELETE FROM exports.export
            WHERE ctid = ANY (
            ARRAY(SELECT e.ctid FROM exports.export e
                WHERE e.expires_at < wharf.now() - interval '30 days' LIMIT most))
        RETURNING 1
    ) SELECT count(*) FROM gone
$$;
