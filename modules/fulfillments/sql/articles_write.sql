-- Writes articles: new ones, and what changes of others. articles, an array of objects: id,
-- fulfillment, location, item, position, name, sku, gtin, is_asset, requested, layout, lot_number,
-- comment, attributes, tags, value, harmonized_code, origin_country. removed: ids of those that go,
-- which have no reservation any more.
CREATE OR REPLACE FUNCTION fulfillments.articles_write(
    articles jsonb, removed text[], moment timestamptz, actor text
) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
BEGIN
    INSERT INTO fulfillments.article AS a (
        organization_id, id, fulfillment_id, location_id, item_id, position, name, sku, gtin,
        is_asset, requested, layout_id, lot_number, comment, attributes, special_handling_tags,
        value, harmonized_code, origin_country, created_at, updated_at, created_by, updated_by
    )
    SELECT org, v.id, v.fulfillment, v.location, v.item, v.position, v.name, v.sku, v.gtin,
        v.is_asset, v.requested, v.layout, v.lot_number, v.comment, v.attributes, v.tags, v.value,
        v.harmonized_code, v.origin_country, moment, moment, actor, actor
    FROM jsonb_to_recordset(articles) v(
        id text, fulfillment text, location text, item text, position integer, name text, sku text,
        gtin text, is_asset boolean, requested numeric, layout text, lot_number text, comment text,
        attributes jsonb, tags jsonb, value bigint, harmonized_code text, origin_country text
    )
    ON CONFLICT (organization_id, id) DO UPDATE
    SET name = excluded.name, requested = excluded.requested, layout_id = excluded.layout_id,
        lot_number = excluded.lot_number, comment = excluded.comment,
        attributes = excluded.attributes, special_handling_tags = excluded.special_handling_tags,
        value = excluded.value, harmonized_code = excluded.harmonized_code,
        origin_country = excluded.origin_country, updated_at = moment, updated_by = actor,
        version = a.version + 1;
    DELETE FROM fulfillments.article a WHERE a.organization_id = org AND a.id = ANY (removed);
END
$$;
