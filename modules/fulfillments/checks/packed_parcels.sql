-- All that an article has packed or shipped is in parcels of its fulfillment.
-- rows: fulfillments.article
SELECT a.organization_id, a.id, 'has ' || (a.packed + a.shipped) || ' packed, and its parcels have '
    || c.quantity
FROM fulfillments.article a
CROSS JOIN LATERAL (
    SELECT coalesce(sum(v.quantity), 0) AS quantity
    FROM fulfillments.content v
    WHERE v.organization_id = a.organization_id AND v.fulfillment_id = a.fulfillment_id
        AND v.article_id = a.id
) c
WHERE a.packed + a.shipped <> c.quantity
