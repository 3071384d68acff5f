-- Lets the next runs of these lines run.
CREATE OR REPLACE FUNCTION workflows.move_up(org text, ids text[], keys text[], at timestamptz)
    RETURNS void LANGUAGE sql SET enable_seqscan = off AS $$
    UPDATE workflows.run r SET due_at = at
    FROM (SELECT DISTINCT u.w, u.k FROM unnest(ids, keys) AS u(w, k) WHERE u.k IS NOT NULL) d
    CROSS JOIN LATERAL (SELECT s.ctid AS place FROM workflows.run s
        WHERE s.organization_id = org AND s.workflow_id = d.w AND s.order_key = d.k
        AND s.status IN ('queued', 'waiting', 'running') ORDER BY s.line LIMIT 1) n
    WHERE r.ctid = n.place AND r.due_at = 'infinity'
$$;
