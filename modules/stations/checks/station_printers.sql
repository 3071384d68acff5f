-- The station of each printer that is there is there.
-- rows: stations.printer
-- Set deleted_at of the printer's row: nothing can be printed on it.
SELECT p.organization_id, p.id, 'stands at ' || p.station_id || ', which is not there'
FROM stations.printer p
LEFT JOIN stations.print_station s
    ON s.organization_id = p.organization_id AND s.id = p.station_id AND s.deleted_at IS NULL
WHERE p.deleted_at IS NULL AND s.id IS NULL
