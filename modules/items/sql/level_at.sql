-- Returns what a level had in a bucket at a moment, out of the ledger.
CREATE OR REPLACE FUNCTION items.level_at(organization text, level text, which text, moment text)
    RETURNS numeric
    LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN coalesce((
        SELECT m.balance_after
        FROM items.stock_movement m
        WHERE m.organization_id = organization AND m.level_id = level AND m.bucket = which
            AND m.created_at <= moment::timestamptz
        ORDER BY m.created_at DESC, m.position DESC
        LIMIT 1
    ), 0);
END
$$;
