-- Follows the stock of removed layouts to the layout target: reservations of one article that meet
-- there become one. Articles that wanted stock of a removed layout alone take any from now on.
CREATE OR REPLACE FUNCTION fulfillments.carry(layouts text[], target text, organization text)
    RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    WITH gone AS (
        DELETE FROM fulfillments.reservation r
        WHERE r.organization_id = organization AND r.layout_id = ANY (layouts)
        RETURNING r.*
    )
    INSERT INTO fulfillments.reservation AS k (
        organization_id, article_id, fulfillment_id, layout_id, lot_id, quantity, picked, packed,
        shipped
    )
    SELECT organization, g.article_id, g.fulfillment_id, target, g.lot_id, sum(g.quantity),
        sum(g.picked), sum(g.packed), sum(g.shipped)
    FROM gone g
    GROUP BY g.article_id, g.fulfillment_id, g.lot_id
    ON CONFLICT (organization_id, article_id, layout_id, lot_id) DO UPDATE
    SET quantity = k.quantity + excluded.quantity, picked = k.picked + excluded.picked,
        packed = k.packed + excluded.packed, shipped = k.shipped + excluded.shipped;
    UPDATE fulfillments.article a
    SET layout_id = NULL, version = a.version + 1
    WHERE a.organization_id = organization AND a.layout_id = ANY (layouts);
END
$$;
