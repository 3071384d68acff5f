-- Deletes rows that nobody will ask for again, and returns how many.
CREATE OR REPLACE FUNCTION stations.forget(at timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE gone bigint;
BEGIN
    WITH old AS (SELECT j.ctid, j.organization_id, j.id FROM stations.print_job j
        WHERE j.ended_at <= at - interval '90 days' LIMIT most),
        lines AS (DELETE FROM stations.print_job_history h USING old o
            WHERE h.organization_id = o.organization_id AND h.job_id = o.id)
    DELETE FROM stations.print_job j USING old o WHERE j.ctid = o.ctid;
    GET DIAGNOSTICS gone = ROW_COUNT;
    DELETE FROM stations.print_session s
        WHERE s.ctid = ANY (ARRAY(SELECT o.ctid FROM stations.print_session o
        WHERE o.ended_at <= at - interval '90 days' LIMIT most));
    DELETE FROM stations.print_push_delivery d
        WHERE d.ctid = ANY (ARRAY(SELECT o.ctid FROM stations.print_push_delivery o
        WHERE o.ended_at <= at - interval '90 days' LIMIT most));
    RETURN gone;
END
$$;
