-- Returns what the watch has to do, of all organizations: kind and row. Plugin SQL sees one
-- organization at a time.
CREATE OR REPLACE FUNCTION stations.due(
    at timestamptz, processing interval, offline interval, retention interval, most integer
)
RETURNS TABLE (organization_id text, id text, kind text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    RETURN QUERY
    (SELECT j.organization_id, j.id, 'expired' FROM stations.print_job j
     WHERE j.status = 'queued' AND j.deleted_at IS NULL AND j.expires_at <= at
     ORDER BY j.expires_at LIMIT most)
    UNION ALL
    (SELECT j.organization_id, j.id, 'lease' FROM stations.print_job j
     WHERE j.status = 'processing' AND j.held_by IS NOT NULL
       AND j.stage IN ('claimed', 'downloading', 'converting') AND j.lease_expires_at <= at
     ORDER BY j.lease_expires_at LIMIT most)
    UNION ALL
    (SELECT j.organization_id, j.id, 'silent' FROM stations.print_job j
     WHERE j.status = 'processing' AND j.reported_at <= at - processing
       AND (j.held_by IS NULL OR j.stage IS NULL
         OR j.stage NOT IN ('claimed', 'downloading', 'converting'))
     ORDER BY j.reported_at LIMIT most)
    UNION ALL
    (SELECT s.organization_id, s.id, 'offline' FROM stations.print_station s
     WHERE s.managed AND s.status = 'online' AND s.deleted_at IS NULL
       AND s.last_seen_at <= at - offline
     ORDER BY s.last_seen_at LIMIT most)
    UNION ALL
    (SELECT j.organization_id, j.id, 'bytes' FROM stations.print_job j
     WHERE (j.source_file IS NOT NULL OR j.prepared_file IS NOT NULL)
       AND j.ended_at <= at - retention
     ORDER BY j.ended_at LIMIT most);
END
$$;
