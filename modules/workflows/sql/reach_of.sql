-- Returns what the caller of a run reached, in the same moment in which the run is claimed: a
-- run may be written between the beginning of the statement that claims and its end, and nothing
-- that is not seen may stand for "all". Unknown runs reach nothing.
CREATE OR REPLACE FUNCTION workflows.reach_of(org text, its_id text) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog
    SET enable_seqscan = off AS $$
DECLARE
    found_reach jsonb;
BEGIN
    SELECT r.reach INTO found_reach FROM workflows.run r
        WHERE r.organization_id = org AND r.id = its_id;
    RETURN CASE WHEN FOUND THEN found_reach ELSE '[]' END;
END
$$;
