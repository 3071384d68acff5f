-- Returns a quantity in base units (spec 09 section 2): what is above zero does not become zero.
CREATE OR REPLACE FUNCTION manifests.in_base(quantity numeric, factor numeric) RETURNS numeric
    LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN factor IS NULL THEN quantity
        WHEN quantity > 0 AND round(quantity * factor, 4) = 0 THEN 0.0001
        ELSE round(quantity * factor, 4)
    END
$$;
