-- Returns what time does to documents, of all organizations: those whose bytes did not come within
-- a day (expire), and those that are expired for 30 days (remove). Plugin SQL sees one
-- organization at a time.
CREATE OR REPLACE FUNCTION documents.due(at timestamptz, most integer)
RETURNS TABLE (organization_id text, id text, kind text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    RETURN QUERY
    (SELECT d.organization_id, d.id, 'expire' FROM documents.document d
     WHERE d.status = 'requested' AND d.deleted_at IS NULL
       AND d.requested_at <= at - interval '1 day'
     ORDER BY d.requested_at LIMIT most)
    UNION ALL
    (SELECT d.organization_id, d.id, 'remove' FROM documents.document d
     WHERE d.status = 'expired' AND d.deleted_at IS NULL AND NOT d.legal_hold
       AND d.requested_at <= at - interval '31 days'
     ORDER BY d.requested_at LIMIT most);
END
$$;
