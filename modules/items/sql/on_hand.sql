-- Returns what is on hand of an item in a layout: available, reserved and damaged, over all lots.
CREATE OR REPLACE FUNCTION items.on_hand(organization text, item text, location text, layout text)
    RETURNS numeric
    LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN (
        SELECT coalesce(sum(v.available + v.reserved + v.damaged), 0)
        FROM items.level v
        WHERE v.organization_id = organization AND v.item_id = item AND v.location_id = location
            AND v.layout_id = layout
    );
END
$$;
