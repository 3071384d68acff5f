-- Books changes of reservations, and with them of their articles. changes, an array of objects:
-- fulfillment, article, layout, lot (or null), and by how much quantity, picked, packed and shipped
-- change. Rows with nothing left go. What would leave less picked than packed, or more promised
-- than is asked for, violates a condition of the tables. A place that went with its layout since it
-- was read lets the request be tried again. The articles are locked in the order in which
-- fulfillments.reserve_plan locks those of one fulfillment.
CREATE OR REPLACE FUNCTION fulfillments.book(changes jsonb) RETURNS void
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    places integer;
    written integer;
BEGIN
    PERFORM 1
    FROM fulfillments.article a
    WHERE a.organization_id = org AND a.id IN (
        SELECT x.article FROM jsonb_to_recordset(changes) x(article text)
    )
    ORDER BY a.item_id, a.location_id, a.fulfillment_id, a.position, a.id
    FOR NO KEY UPDATE;

    INSERT INTO fulfillments.reservation (
        organization_id, article_id, fulfillment_id, layout_id, lot_id
    )
    SELECT DISTINCT org, c.article, c.fulfillment, c.layout, c.lot
    FROM jsonb_to_recordset(changes) c(
        fulfillment text, article text, layout text, lot text, quantity numeric
    )
    WHERE c.quantity > 0
    ON CONFLICT (organization_id, article_id, layout_id, lot_id) DO NOTHING;

    UPDATE fulfillments.reservation r
    SET quantity = r.quantity + c.quantity, picked = r.picked + c.picked,
        packed = r.packed + c.packed, shipped = r.shipped + c.shipped
    FROM (
        SELECT x.article, x.layout, x.lot, sum(x.quantity) AS quantity, sum(x.picked) AS picked,
            sum(x.packed) AS packed, sum(x.shipped) AS shipped
        FROM jsonb_to_recordset(changes) x(
            article text, layout text, lot text, quantity numeric, picked numeric, packed numeric,
            shipped numeric
        )
        GROUP BY x.article, x.layout, x.lot
    ) c
    WHERE r.organization_id = org AND r.article_id = c.article AND r.layout_id = c.layout
        AND r.lot_id IS NOT DISTINCT FROM c.lot;
    GET DIAGNOSTICS written = ROW_COUNT;
    SELECT count(*)
    INTO places
    FROM (
        SELECT DISTINCT x.article, x.layout, x.lot
        FROM jsonb_to_recordset(changes) x(article text, layout text, lot text)
    ) p;
    IF written <> places THEN
        RAISE EXCEPTION 'a place of a reservation went meanwhile'
            USING ERRCODE = 'serialization_failure';
    END IF;

    UPDATE fulfillments.article a
    SET reserved = a.reserved + c.quantity, picked = a.picked + c.picked,
        packed = a.packed + c.packed, shipped = a.shipped + c.shipped, version = a.version + 1
    FROM (
        SELECT x.article, sum(x.quantity) AS quantity, sum(x.picked) AS picked,
            sum(x.packed) AS packed, sum(x.shipped) AS shipped
        FROM jsonb_to_recordset(changes) x(
            article text, quantity numeric, picked numeric, packed numeric, shipped numeric
        )
        GROUP BY x.article
    ) c
    WHERE a.organization_id = org AND a.id = c.article;

    DELETE FROM fulfillments.reservation r
    USING (SELECT DISTINCT x.article FROM jsonb_to_recordset(changes) x(article text)) c
    WHERE r.organization_id = org AND r.article_id = c.article AND r.quantity = 0
        AND r.shipped = 0;
END
$$;
