-- Each article has the sums of its reservations: reserved, picked, packed and shipped. Closed
-- fulfillments have nothing reserved.
-- rows: fulfillments.article
SELECT a.organization_id, a.id, CASE
        WHEN a.is_open = (f.status IN ('completed', 'canceled'))
            THEN 'is ' || CASE WHEN a.is_open THEN 'open' ELSE 'closed' END
                || ', and its fulfillment ' || f.status
        WHEN NOT a.is_open AND a.reserved <> 0
            THEN 'is closed, and has ' || a.reserved || ' reserved'
        ELSE 'does not have the sums of its reservations'
    END
FROM fulfillments.article a
JOIN fulfillments.fulfillment f
    ON f.organization_id = a.organization_id AND f.id = a.fulfillment_id
CROSS JOIN LATERAL (
    SELECT coalesce(sum(r.quantity), 0) AS quantity, coalesce(sum(r.picked), 0) AS picked,
        coalesce(sum(r.packed), 0) AS packed, coalesce(sum(r.shipped), 0) AS shipped
    FROM fulfillments.reservation r
    WHERE r.organization_id = a.organization_id AND r.article_id = a.id
) r
WHERE a.is_open = (f.status IN ('completed', 'canceled'))
    OR (NOT a.is_open AND a.reserved <> 0)
    OR (a.reserved, a.picked, a.packed, a.shipped)
        <> (r.quantity, r.picked, r.packed, r.shipped)
