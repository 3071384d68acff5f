-- Returns queued jobs that were routed automatically to a station or printer which is away for
-- so long (spec 04 section 7 'Rerouting').
CREATE OR REPLACE FUNCTION stations.stranded(at timestamptz, away interval, most integer)
    RETURNS TABLE (organization_id text, id text)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT j.organization_id, j.id FROM (
        SELECT s.organization_id, s.id AS station_id, NULL::text AS printer_id
            FROM stations.print_station s
        WHERE s.status = 'offline' AND s.deleted_at IS NULL
            AND COALESCE(s.last_seen_at, s.updated_at) <= at - away
        UNION ALL
        SELECT p.organization_id, p.station_id, p.id FROM stations.printer p
        WHERE p.status IN ('offline', 'error') AND p.deleted_at IS NULL
            AND p.status_changed_at <= at - away) away_since
    CROSS JOIN LATERAL (SELECT q.organization_id, q.id FROM stations.print_job q
        WHERE q.organization_id = away_since.organization_id
            AND q.print_station_id = away_since.station_id AND q.status = 'queued'
          AND q.deleted_at IS NULL AND NOT q.raw AND (q.routing ->> 'automatic')::boolean
          AND (away_since.printer_id IS NULL OR q.printer_id = away_since.printer_id)
          ORDER BY q.priority DESC, q.id LIMIT most) j
    GROUP BY j.organization_id, j.id LIMIT most
$$;
