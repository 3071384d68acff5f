-- Tells whether other stations of a location have a name, or a name that is shown. $1 location, $2
-- organization, $3 the station, $4 name, $5 name that is shown.
SELECT COALESCE(bool_or(lower(name) = lower($4::text)), false),
    COALESCE(bool_or(lower(display_name) = lower($5::text)), false)
FROM stations.print_station
WHERE organization_id = $2::text
    AND location_id = $1::text
    AND id <> $3::text
    AND deleted_at IS NULL
    AND (lower(name) = lower($4::text) OR lower(display_name) = lower($5::text))
