-- Each tracker shows the legs that it has, and one of them as the current one.
-- rows: trackers.tracker
-- Write one of its shipments (POST /v1/shipments/:shipment with a changed note, say): the tracker
-- is derived anew.
SELECT t.organization_id, t.id, CASE
        WHEN t.legs_count <> coalesce(l.n, 0)
            THEN 'shows ' || t.legs_count || ' legs, and has ' || coalesce(l.n, 0)
        WHEN l.told <> coalesce(t.legs_hash, '') THEN 'shows its legs as they are no more'
        ELSE 'shows ' || coalesce(t.current_shipment_id, 'no shipment')
            || ' as its current leg, which is none of its legs'
    END
FROM trackers.tracker t
LEFT JOIN (
    SELECT organization_id, tracker_id, count(*) AS n, array_agg(id) AS ids,
        string_agg(
            concat_ws('|', id, status, tracking_number, provider_id, is_parent), ','
            ORDER BY leg, created_at, id
        ) AS told
    FROM shipments.shipment
    WHERE deleted_at IS NULL AND tracker_id IS NOT NULL
    GROUP BY organization_id, tracker_id
) l ON l.organization_id = t.organization_id AND l.tracker_id = t.id
WHERE t.deleted_at IS NULL
    AND (
        t.legs_count <> coalesce(l.n, 0)
        OR l.told <> coalesce(t.legs_hash, '')
        OR (l.n IS NOT NULL AND NOT coalesce(t.current_shipment_id = ANY (l.ids), false))
    )
